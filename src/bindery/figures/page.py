"""How a chapter's figure becomes a figure of the book: a plugin of MyST-NB."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from bindery.figures.drawing import MIME

if TYPE_CHECKING:
    from docutils.nodes import Element


class MimeRenderer:
    """MyST-NB plugin: a chapter's figure becomes a numbered, captioned figure of the book, with alt text."""

    mime_priority_overrides: ClassVar = [("*", MIME, 0)]

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[Element] | None:
        """Docutils nodes for a figure's mime data; None, which declines, for every other kind."""
        if data.mime_type != MIME or inline:
            return None
        png = _sibling_png(renderer, data)
        if png is None:
            renderer.logger.warning(
                f"figure {data.content.get('name')} has no image", subtype="figure", line=data.line
            )
            return []
        return _figure_nodes(renderer, data, png)


def _sibling_png(renderer: Any, data: Any) -> str | None:
    """The PNG of the output that carries this very figure."""
    _, outputs = renderer.renderer.nb_client.code_cell_outputs(data.cell_index)
    for output in outputs:
        bundle = output.get("data", {})
        if bundle.get(MIME) == data.content and "image/png" in bundle:
            return bundle["image/png"]
    return None


def _figure_nodes(renderer: Any, data: Any, png: str) -> list[Element]:
    from docutils import nodes
    from myst_nb.core.render import create_figure_context

    content = data.content
    (image,) = renderer.render_image(replace(data, mime_type="image/png", content=png))
    image["alt"] = content["alt"]
    options = {"name": f"fig-{content['name']}", "caption": content["caption"], "classes": "bindery-figure"}
    holder = nodes.Element()
    with renderer.renderer.current_node_context(holder):  # noqa: SIM117  (the figure goes into the holder)
        with create_figure_context(renderer.renderer, options, data.line or 0):
            renderer.renderer.current_node.append(image)
    return list(holder.children)
