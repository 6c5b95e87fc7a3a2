"""Figures have one form on every console, and a missing one is shown as such."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from scorer.commands.show import figures


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (figures.number(0.8644), "0.864"),
        (figures.number(12.34, 1), "12.3"),
        (figures.signed(-0.0706), "-0.071"),
        (figures.signed(0.5), "+0.500"),
        (figures.share(0.1234), "12.3%"),
        (figures.share(1.0), "100%"),
        (figures.points(0.0756), "+7.6"),
        (figures.interval((0.1, 0.25)), "0.100 to 0.250"),
        (figures.interval((0.061, 0.193), figures.share), "6.1% to 19.3%"),
        (figures.interval((-0.1, 0.2), figures.signed), "-0.100 to +0.200"),
        (figures.kinds({"null_text": 1200, "too_long:omission": 1}), "null_text 1,200, too_long:omission 1"),
        (figures.kinds({"null_text": 12}, "about "), "null_text about 12"),
        (figures.kinds({}), ""),
        (figures.duration(119.4), "119 s"),
        (figures.duration(600), "10 min"),
        (figures.duration(3 * 3600), "3.0 h"),
    ],
)
def test_a_figure_is_shown(shown: str, expected: str) -> None:
    assert shown == expected


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
