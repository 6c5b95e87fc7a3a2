"""The report inside a notebook: in a frame of its own, so that neither page can break the other."""

from __future__ import annotations

from ..document import Document
from .environment import rendered


class Audit:
    """A document that shows itself as the report where a notebook asks for HTML.

    The frame is sandboxed without an origin: the script of the report runs, and reaches nothing of the notebook.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    def html(self) -> str:
        """The report as a page of its own."""
        from . import render

        return render(self.document)

    def _repr_html_(self) -> str:
        from . import render

        return rendered("frame.html.jinja", page=render(self.document, embedded=True))

    def __repr__(self) -> str:
        return f"Audit(status={self.document.status!r}, out={self.document.out!r})"
