"""The pages of a class's feedback: nbconvert's own, made in a fraction of the time."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.exporters.templateexporter import TemplateExporter
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter
from nbformat.notebooknode import NotebookNode

# What nbconvert mends in a page that stands: images without a description, and cells of JupyterLab's template.
TO_BE_MENDED = re.compile(r"<img(?![^<>]*\salt=)|jp-Notebook", re.IGNORECASE)
REMEMBERED_TEXTS = 512  # the cells of a few lessons
LONGEST_REMEMBERED = 10_000
Resources = dict[str, Any]


class PageExporter(HTMLExporter):  # type: ignore[misc]  # nbconvert has no types
    """Makes the pages that nbconvert makes.

    A text that stands in every page, as a lesson's own cells do, is highlighted or rendered once. A page is parsed and
    written again, which takes longer than all the rest, only where nbconvert would mend something in it.
    """

    def __init__(self, config: Any = None, **kw: Any):
        super().__init__(config=config, **kw)
        self._highlighted = functools.lru_cache(REMEMBERED_TEXTS)(self._highlight)
        self._rendered = functools.lru_cache(REMEMBERED_TEXTS)(self._render)

    def from_notebook_node(
        self, nb: NotebookNode, resources: Resources | None = None, **kw: Any
    ) -> tuple[str, Resources]:
        """Make one page."""
        self._nb_metadata.clear()  # nbconvert keeps that of every notebook
        language = nb.metadata.get("language_info", {})
        lexer = str(language.get("pygments_lexer", language.get("name", "")))
        began = self._init_resources(resources)

        def highlight(source: str, language: str = "", metadata: Mapping[str, Any] | None = None) -> str:
            magics = str((metadata or {}).get("magics_language", ""))
            call = self._highlighted if len(source) < LONGEST_REMEMBERED else self._highlight
            return call(source, lexer, language, magics)

        outputs = WidgetsDataTypeFilter(notebook_metadata=self._nb_metadata, parent=self, resources=began)
        self.register_filter("highlight_code", self.filters.get("highlight_code", highlight))
        self.register_filter("filter_data_type", outputs)
        page, ended = TemplateExporter.from_notebook_node(self, nb, began, **kw)
        return super().from_notebook_node(nb, resources, **kw) if TO_BE_MENDED.search(page) else (page, ended)

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """Render Markdown, as nbconvert does with the cell's attachments."""
        is_plain = not context.get("cell", {}).get("attachments") and not self.embed_images
        if is_plain and len(source) < LONGEST_REMEMBERED:
            return self._rendered(source)
        return str(super().markdown2html(context, source))

    def _highlight(self, source: str, lexer: str, language: str, magics: str) -> str:
        metadata = {"magics_language": magics} if magics else {}
        return str(Highlight2HTML(pygments_lexer=lexer, parent=self)(source, language, metadata))

    def _render(self, source: str) -> str:
        return str(super().markdown2html({}, source))
