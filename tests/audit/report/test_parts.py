"""What the page is made of: figures as text, cuts, and charts that stand where their figures say."""

from __future__ import annotations

from itertools import pairwise

from scorer.audit.report import charts, numbers
from scorer.audit.report.environment import environment
from scorer.audit.report.limits import Limits, clip, clip_plain, steps
from scorer.stats.intervals import Rate
from tests.audit.report.parsing import Node, parse


def test_figures_as_text() -> None:
    assert numbers.points(-0.047) == "−4.7"
    assert (numbers.probability(0.0004), numbers.probability(0.9997)) == ("<0.001", ">0.999")
    assert numbers.span(0.0, 0.00001) == "0–<0.01%"
    assert numbers.span(None, 0.1) == numbers.sortable(None) == ""


def test_a_cut_text_says_how_much_is_missing() -> None:
    data = environment("html").get_template("values.html.jinja").make_module({"limits": Limits()}).data  # type: ignore[attr-defined]
    assert data("abc", 3) == '<bdi class="data">abc</bdi>'
    assert parse(data("abcdef", 4)).text == "abcd … 2 more characters"
    assert clip("abcdef", 4) == ("abcd", 2)
    assert (clip_plain("abcdef", 4), clip_plain("abcd", 4)) == ("abcd…", "abcd")


def test_every_step_shows_less_and_the_last_next_to_nothing() -> None:
    found = steps()
    assert found[0] == Limits()
    for before, after in pairwise(found):
        assert all(getattr(after, name) <= value for name, value in vars(before).items())
    assert set(vars(found[-1]).values()) == {2}


def charted(call: str, top: float, **names: object) -> Node:
    """A drawing as it stands in the page, on its scales."""
    source = (
        '{% from "charts.html.jinja" import interval, plot, trend %}'
        f'{{% call plot("name", {top}, ("a", "b"), ("Share", "Run")) %}}{{{{ {call} }}}}{{% endcall %}}'
    )
    return parse(environment("html").from_string(source).render(names))


def at(node: Node, name: str) -> float:
    return float((node.attributes[name] or "").rstrip("%"))


def lines(root: Node, kind: str) -> list[Node]:
    return [node for node in root.find("line") if kind in (node.attributes.get("class") or "").split()]


def test_an_interval_is_drawn_to_scale() -> None:
    rate = Rate(count=10, n=100, value=0.1, low=0.08, high=0.13)
    svg = charted('interval(rate, 0.2, 0.05, "omission")', 0.2, rate=rate).one("svg", class_="interval")
    assert at(svg.one("circle"), "cx") == 50
    (whisker,), (before,) = lines(svg, "whisker"), lines(svg, "before")
    assert (at(whisker, "x1"), at(whisker, "x2"), at(before, "x1")) == (40, 65, 25)
    assert svg.attributes["aria-hidden"] == "true"


def test_a_trend_breaks_at_a_run_without_a_figure() -> None:
    root = charted('trend([("omission", [0.05, 0.1, none, 0.0, 0.02])], 0.1)', 0.1)
    assert len(root.find("circle")) == 4
    drawn = [(at(line, "x1"), at(line, "x2")) for line in lines(root, "trend-line")]
    assert drawn == [(2, 26), (74, 98)]
    assert min(at(circle, "cy") for circle in root.find("circle")) == charts.PLOT_TOP
