"""Text stays text in every template; figures, cuts, and charts that stand where their figures say."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError, nodes

import scorer.audit.report
from scorer.audit.report import charts, numbers
from scorer.audit.report.environment import environment
from scorer.audit.report.escapes import cost, framed, plain
from scorer.audit.report.limits import Limits, clip, clip_plain, steps
from scorer.stats.intervals import Rate
from tests.audit.report.parsing import Node, parse
from tests.conftest import ROOT

PACKAGE = Path(scorer.audit.report.__file__).parent
TEMPLATES = sorted(path.name for path in (PACKAGE / "templates").glob("*.html.jinja"))
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


def source(template: str) -> str:
    return (PACKAGE / "templates" / template).read_text("utf-8")


def rendered(template: str, **views: object) -> str:
    return environment("html").from_string(template).render(views)


def shown(markup: str) -> str:
    """What a reader reads in ``markup``, code points turned back into characters."""
    root = parse(f"<p>{markup}</p>").one("p")
    for node in root.walk():
        assert node.name in ("p", "span"), node.name
        if node.name == "span":
            assert node.attributes == {"class": "unseen"}
            node.children = [chr(int(node.text.removeprefix("U+"), 16))]
    return root.text


@given(ANY_TEXT)
def test_a_parser_reads_back_exactly_the_text(value: str) -> None:
    assert shown(rendered("{{ value }}", value=value)) == value.replace("\r\n", "\n")


@given(ANY_TEXT)
def test_an_attribute_holds_the_text_and_nothing_gets_out_of_it(value: str) -> None:
    node = parse(rendered('<p title="{{ value|plain }}">x</p>', value=value)).one("p")
    assert node.attributes == {"title": plain(value)}
    assert node.text == "x"


@given(ANY_TEXT)
def test_the_cost_of_a_text_is_never_underrated(value: str) -> None:
    assert len(framed(value).encode()) <= cost(value)


def test_what_turns_the_line_or_hides_is_spelled_out() -> None:
    assert framed("a\u202eb") == "a<span class=unseen>U+202E</span>b"
    assert plain("a\u2067b\x00") == "a[U+2067]b[U+0000]"
    joined = "👩\u200d🚒 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert framed(joined) == joined
    assert framed("line\n\tnext\r\nwindows") == "line\n\tnext\nwindows"


def test_a_line_break_of_a_template_is_nothing_and_one_of_the_data_is_kept() -> None:
    assert rendered("<p>\n  {{ value }}  \n\n</p>\n", value="a\n b") == "<p>a\n b</p>"


def test_a_name_that_is_not_there_is_an_error() -> None:
    for template in ("{{ nothing }}", "{{ value.nothing }}", "{% if nothing %}x{% endif %}"):
        with pytest.raises(UndefinedError):
            rendered(template, value="x")


@pytest.mark.parametrize("name", TEMPLATES)
def test_autoescape_holds_in_every_template(name: str) -> None:
    """It is on, nothing turns it off, and nothing joins text to markup where the finaliser does not see it."""
    assert environment("html").autoescape is True
    tree = environment("html").parse(source(name))
    assert not [*tree.find_all((nodes.ScopedEvalContextModifier, nodes.EvalContextModifier))], "autoescape is changed"
    assert {found.name for found in tree.find_all(nodes.Filter)}.isdisjoint({"safe", "xmlattr", "urlize", "tojson"})
    assert not [*tree.find_all((nodes.Mod, nodes.FilterBlock))]


@pytest.mark.parametrize("name", TEMPLATES)
def test_attributes_are_quoted_and_take_plain_text(name: str) -> None:
    for tag in re.findall(r"<[a-z][^<>]*>", re.sub(r"{[#%].*?[#%]}", "", source(name), flags=re.DOTALL)):
        for value in re.findall(r"{{(.*?)}}", tag):
            assert re.search(r"\|(plain|clip_plain\([^()]*\))$", value.strip()) or value.strip() == "loop.index0", tag
        assert not re.search(r"=(?!\")", re.sub(r"{{.*?}}|\"[^\"]*\"", '"', tag)), tag


def test_the_wheel_holds_every_template_style_sheet_and_script() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["scorer"]
    held = {path for pattern in patterns for path in (ROOT / "scorer").glob(pattern)}
    assert {path for path in PACKAGE.rglob("*.*") if path.suffix in (".jinja", ".css", ".js")} <= held


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
