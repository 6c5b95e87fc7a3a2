"""What the page is made of: figures as text, cuts, and charts that stand where their figures say."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scorer.audit.report import charts, numbers
from scorer.audit.report.environment import environment
from scorer.audit.report.limits import Limits, clip, clip_plain, steps
from tests.audit.report.parsing import Node, parse


@pytest.mark.parametrize(
    ("filter_", "value", "shown"),
    [
        (numbers.percent, 0.0316, "3.2%"),
        (numbers.percent, None, "–"),
        (numbers.points, -0.047, "−4.7"),
        (numbers.points, 0.0, "±0"),
        (numbers.probability, 0.0004, "<0.001"),
        (numbers.probability, 0.9997, ">0.999"),
        (numbers.probability, 1.0, "1.000"),
        (numbers.count, 1234567, "1,234,567"),
        (numbers.sortable, None, ""),
    ],
)
def test_figures_as_text(filter_: object, value: float | None, shown: str) -> None:
    assert filter_(value) == shown  # type: ignore[operator]


def test_intervals_as_text() -> None:
    assert numbers.span(0.029, 0.036, unit=False) == "2.9–3.6"
    assert numbers.span(0.0, 0.00001) == "0–<0.01%"
    assert numbers.span(None, 0.1) == ""
    assert numbers.point_span(-0.01, 0.02) == "−1.0 to +2.0"
    assert numbers.plural(0, "row").replace("\u00a0", " ") == "0 rows"


def test_a_cut_text_says_how_much_is_missing() -> None:
    data = environment("html").get_template("values.html.jinja").make_module({"limits": Limits()}).data  # type: ignore[attr-defined]
    assert data("abc", 3) == '<bdi class="data">abc</bdi>'
    assert parse(data("abcdef", 4)).text == "abcd … 2 more characters"
    assert clip("abcdef", 4) == ("abcd", 2)
    assert clip_plain("abcdef", 4) == "abcd…"
    assert clip_plain("abcd", 4) == "abcd"


def test_every_step_shows_less_and_the_last_next_to_nothing() -> None:
    found = steps()
    assert found[0] == Limits()
    for before, after in pairwise(found):
        assert all(getattr(after, name) <= value for name, value in vars(before).items())
    assert set(vars(found[-1]).values()) == {2}


def charted(plot: charts.Plot) -> Node:
    """A chart as it stands in the page."""
    return parse(environment("html").get_template("tables.html.jinja").module.drawn(plot))  # type: ignore[attr-defined]


def at(node: Node, name: str) -> float:
    return float((node.attributes[name] or "").rstrip("%"))


def lines(root: Node, kind: str) -> list[Node]:
    return [node for node in root.find("line") if kind in (node.attributes.get("class") or "").split()]


def test_an_interval_is_drawn_to_scale() -> None:
    root = parse(charts.interval(0.1, 0.08, 0.13, 0.2, before=0.05, kind="omission"))
    assert at(root.one("circle"), "cx") == 50
    (whisker,), (before,) = lines(root, "whisker"), lines(root, "before")
    assert (at(whisker, "x1"), at(whisker, "x2"), at(before, "x1")) == (40, 65, 25)
    assert root.one("svg").attributes["aria-hidden"] == "true"


def test_a_histogram_is_linear_and_names_its_axes() -> None:
    root = charted(charts.histogram([0.0, 0.04, 0.16, 0.8], [0.25] * 4, ("0", "1"), "name", ("Share", "Confidence")))
    heights = [at(node, "height") for node in root.find("rect")]
    full = charts.PLOT_HEIGHT - 14
    assert heights == pytest.approx([full * share for share in (0, 0.04, 0.16, 0.8)], abs=0.01)
    assert [at(node, "x") for node in root.find("rect")] == [1.5, 26.5, 51.5, 76.5]
    assert {at(step, "y1") for step in lines(root, "step")} == {charts.PLOT_HEIGHT - full * 0.25}
    picture = root.one("div", role="img")
    assert picture.attributes["aria-label"] == "name"
    assert [node.text.strip() for node in root.find("div") if "axis-name" in (node.attributes.get("class") or "")] == [
        "Share",
        "Confidence",
    ]
    assert [node.text.strip() for node in root.find("span")] == ["0", "1"]


def test_a_trend_breaks_at_a_run_without_a_figure() -> None:
    root = charted(charts.trend([("omission", [0.05, 0.1, None, 0.0, 0.02])], ("a", "b"), "name", ("Share", "Run")))
    assert len(root.find("circle")) == 4
    drawn = [(at(line, "x1"), at(line, "x2")) for line in lines(root, "trend-line")]
    assert drawn == [(2, 26), (74, 98)]
    top = min(at(circle, "cy") for circle in root.find("circle"))
    assert top == 14  # 0.1 is the top of its scale


def test_a_spark_is_on_the_scale_of_its_column() -> None:
    root = parse(charts.spark([0.0, 0.1, None, 0.05, 0.2], 0.2))
    height = charts.SPARK_HEIGHT - 4
    drawn = [(at(line, "x1"), at(line, "y1"), at(line, "y2")) for line in lines(root, "trend-line")]
    assert drawn == [(0, height, height / 2), (73.5, height * 0.75, 0)]
    assert (at(root.one("circle"), "cx"), at(root.one("circle"), "cy")) == (98, 0)
