"""The one kind of console that results are printed on: data is never markup, and never obeyed by the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ...system.display import visible


class SafeConsole(Console):
    """A console that shows hidden characters of whatever it renders as code points.

    Callers make data visible before they lay it out (:func:`scorer.system.display.all_visible`), so that newlines in
    values are seen too and columns stay straight; this catches what was forgotten. What rich itself sends to move the
    cursor is marked as such, and passes.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text, lines=True), segment.style)


def make_console(*, stderr: bool = False, least_width: int = 0) -> SafeConsole:
    """A console on stdout, or on stderr, at least so many columns wide; neither markup nor emoji codes are read."""
    console = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if console.width < least_width:
        console.width = least_width
    return console
