"""The built smoke book: links and anchors resolve, nothing loads from the network, figures have alt text."""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from bs4 import BeautifulSoup

from bindery.paths import project_root

HTML = project_root() / "_build" / "smoke" / "html"
pytestmark = [
    pytest.mark.book,
    pytest.mark.skipif(
        not (HTML / "index.html").exists(), reason="no smoke book; run `make test` (it builds one first)"
    ),
]
PAGES = sorted(path.relative_to(HTML).as_posix() for path in HTML.rglob("*.html")) if HTML.exists() else []
GENERATED = {"genindex.html", "search.html", "index.html"}


@cache
def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((HTML / page).read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(page: str) -> frozenset[str]:
    return frozenset(
        value
        for tag in soup(page).find_all(True)
        for value in (tag.get("id"), tag.get("name"))
        if isinstance(value, str)
    )


@pytest.mark.parametrize("page", PAGES)
def test_links_and_anchors_resolve(page: str) -> None:
    broken = []
    for link in soup(page).find_all("a", href=True):
        href = link["href"]
        if re.match(r"^(https?:|mailto:|javascript:|data:)", href) or href == "#":
            continue
        target, fragment = urldefrag(unquote(href))
        path = (HTML / page).parent / target if target else HTML / page
        if not path.resolve().exists():
            broken.append(f"{href}: no such file")
        elif fragment and path.suffix == ".html":
            relative = path.resolve().relative_to(HTML.resolve()).as_posix()
            if fragment not in anchors(relative):
                broken.append(f"{href}: no such anchor")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("page", PAGES)
def test_nothing_loads_from_the_network(page: str) -> None:
    remote = []
    for tag, attribute in (
        ("script", "src"),
        ("link", "href"),
        ("img", "src"),
        ("iframe", "src"),
        ("source", "src"),
    ):
        for element in soup(page).find_all(tag):
            address = element.get(attribute, "")
            if tag == "link" and "canonical" in (element.get("rel") or []):
                continue
            if re.match(r"^(https?:)?//", address):
                remote.append(f"<{tag} {attribute}={address}>")
    for style in soup(page).find_all("style"):
        remote += re.findall(r"url\(\s*['\"]?(?:https?:)?//[^)]*\)", style.get_text())
    for script in soup(page).find_all("script", src=False):
        remote += re.findall(r"import\(\s*['\"]https?://[^'\"]*", script.get_text())
    assert not remote, "\n".join(remote)


def test_style_sheets_load_nothing_from_the_network() -> None:
    remote = [
        f"{sheet.name}: {match}"
        for sheet in HTML.rglob("*.css")
        for match in re.findall(
            r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\";]*", sheet.read_text(errors="ignore")
        )
    ]
    assert not remote, "\n".join(remote)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("book/")])
def test_images_exist_and_have_alt_text(page: str) -> None:
    article = soup(page).find("article") or soup(page)
    bad = []
    for image in article.find_all("img"):
        source, alt = image.get("src", ""), (image.get("alt") or "").strip()
        if not source.startswith("data:") and not ((HTML / page).parent / unquote(source)).exists():
            bad.append(f"{source}: no such file")
        if len(alt) < 20 or alt.endswith((".png", ".svg")):
            bad.append(f"{source}: alt text {alt!r} does not describe the picture")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("book/chapters/")])
def test_chapter_pages_hold_no_error_no_raw_markup_and_no_local_path(page: str) -> None:
    article = soup(page).find("article") or soup(page)
    shown = copy.copy(article)
    for code in shown.select("pre, code, .cell_input"):
        code.decompose()
    text = shown.get_text(" ")
    assert "Traceback (most recent call last)" not in text
    for role in ("{glue", "{numref}", "{eq}", "{cite", "{prf:"):
        assert role not in text, f"{role} was not rendered"
    assert str(project_root()) not in text and str(Path.home()) + "/" not in text
    assert article.find("a", href=True) is not None


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("book/chapters/")])
def test_executed_notebook_can_be_downloaded(page: str) -> None:
    downloads = [
        link["href"] for link in soup(page).find_all("a", href=True) if link["href"].endswith(".ipynb")
    ]
    assert any(((HTML / page).parent / href).exists() for href in downloads), "no notebook to download"


def test_search_index_is_there() -> None:
    assert (HTML / "searchindex.js").stat().st_size > 1000
