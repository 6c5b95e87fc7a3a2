"""The console for results. Text from data is never read as markup, nor as a control sequence of the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ...system.display import visible


class SafeConsole(Console):
    """A console that shows hidden characters of whatever it renders as code points.

    Callers make data visible before they lay it out (:func:`scorer.system.display.all_visible`), so that newlines in
    values are seen too and columns stay straight; this class covers strings that were missed. The control codes of rich
    itself are marked as such and pass through.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text, lines=True), segment.style)


def make_console(*, stderr: bool = False, least_width: int = 0) -> SafeConsole:
    """A console on stdout or stderr, at least ``least_width`` columns wide; markup and emoji codes stay text."""
    console = SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    if console.width < least_width:
        console.width = least_width
    return console
