"""Figures have one form on every console, and a missing one is shown as such."""

from __future__ import annotations

import io
import re

from rich.console import Console

from scorer.commands.show import figures


def test_a_figure_is_shown() -> None:
    assert figures.signed(-0.0706) == "-0.071"
    assert (figures.share(0.1234), figures.share(1.0)) == ("12.3%", "100%")
    assert figures.interval((0.061, 0.193), figures.share) == "6.1% to 19.3%"
    assert figures.kinds({"null_text": 1200, "too_long:omission": 1}) == "null_text 1,200, too_long:omission 1"
    assert [figures.duration(seconds) for seconds in (119.4, 7000, 3 * 3600)] == ["119 s", "117 min", "3.0 h"]


def test_a_table_wraps_names_and_never_cuts_off_a_figure() -> None:
    made = figures.table("name", "rows", "result", names=("result",))
    made.add_row("a name of many words that does not fit", "1,234,567", "passes")
    written = io.StringIO()
    Console(file=written, width=40).print(made)
    head, first, *others = written.getvalue().splitlines()
    assert head.split() == ["name", "rows", "result"]
    assert "  1,234,567  " in first
    shown = re.sub(r"\s|1,234,567", "", "".join([first, *others]))
    assert sorted(shown) == sorted("anameofmanywordsthatdoesnotfitpasses")
