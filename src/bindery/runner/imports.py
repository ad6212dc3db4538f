"""Which library files a piece of code depends on, from its imports, without running it.

Imports inside functions count too. What a module loads by a computed name is not seen; data files in an
imported sub-package (cards, manifests) are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_NOT_DATA = {".py", ".pyc", ".pyi", ".partial", ".part", ".tmp"}


class Library:
    """The files of a package, by dotted name; parsed once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._imports: dict[Path, set[str]] = {}

    def files(self, code: str) -> dict[str, Path]:
        """Name to file for everything that ``code`` imports from the package, transitively."""
        found: dict[str, Path] = {}
        waiting = list(self._names(_tree(code), package=""))
        while waiting:
            name = waiting.pop()
            if name in found or (path := self._file(name)) is None:
                continue
            found[name] = path
            if path not in self._imports:
                package = name if path.name == "__init__.py" else name.rpartition(".")[0]
                self._imports[path] = set(self._names(_tree(path.read_text(encoding="utf-8")), package))
            waiting.extend(self._imports[path])
        return found | self._data_files(found)

    def _names(self, tree: ast.AST, package: str) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._with_parents(alias.name)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    above = package.split(".")[: len(package.split(".")) - node.level + 1]
                    base = ".".join([*above, base] if base else above)
                for alias in node.names:
                    yield from self._with_parents(f"{base}.{alias.name}")

    def _with_parents(self, dotted: str) -> Iterator[str]:
        parts = dotted.split(".")
        if parts[0] == self.folder.name:
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))

    def _file(self, dotted: str) -> Path | None:
        place = self.folder.parent.joinpath(*dotted.split("."))
        return next(
            (p for p in (place / "__init__.py", place.with_name(f"{place.name}.py")) if p.is_file()), None
        )

    def _data_files(self, modules: dict[str, Path]) -> dict[str, Path]:
        packages = {path.parent for path in modules.values() if path.name == "__init__.py"} - {self.folder}
        return {
            str(path.relative_to(self.folder.parent)): path
            for package in packages
            for path in package.rglob("*")
            if path.is_file() and path.suffix not in _NOT_DATA
        }


def _tree(code: str) -> ast.AST:
    """The syntax tree; of code that does not parse an empty one: running it will say what is wrong."""
    try:
        return ast.parse(code)
    except SyntaxError:
        return ast.Module([], [])
