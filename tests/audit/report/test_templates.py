"""Text stays text in every template; figures, cuts, and charts that stand where their figures say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError, nodes

import scorer.audit.report
from scorer.audit.report import environment, text
from scorer.audit.report.text import Limits, clip, clip_plain, framed, plain
from scorer.stats.intervals import Rate
from tests.audit.report.parsing import Node, parse
from tests.conftest import ROOT

PACKAGE = Path(scorer.audit.report.__file__).parent
TEMPLATES = sorted(path.name for path in (PACKAGE / "templates").glob("*.html.jinja"))
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


def rendered(template: str, **views: object) -> str:
    return environment("html").from_string(template).render(views)


@given(ANY_TEXT)
def test_a_parser_reads_back_exactly_the_text(value: str) -> None:
    root = parse(rendered('<p title="{{ value|plain }}">{{ value }}</p>', value=value)).one("p")
    assert root.attributes == {"title": plain(value)}
    for node in root.find("span"):
        assert node.attributes == {"class": "unseen"}
        node.children = [chr(int(node.text.removeprefix("U+"), 16))]
    assert root.text == value.replace("\r\n", "\n") and {node.name for node in root.walk()} <= {"p", "span"}


def test_what_turns_the_line_or_hides_is_spelled_out() -> None:
    assert framed("a\u202eb") == "a<span class=unseen>U+202E</span>b"
    assert plain("a\u2067b\x00") == "a[U+2067]b[U+0000]"
    joined = "👩\u200d🚒 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\n\t"
    assert framed(joined) == joined


def test_a_line_break_of_a_template_is_nothing_and_a_name_that_is_not_there_is_an_error() -> None:
    assert rendered("<p>\n  {{ value }}  \n\n</p>\n", value="a\n b") == "<p>a\n b</p>"
    for template in ("{{ nothing }}", "{{ value.nothing }}", "{% if nothing %}x{% endif %}"):
        with pytest.raises(UndefinedError):
            rendered(template, value="x")


@pytest.mark.parametrize("name", TEMPLATES)
def test_autoescape_holds_in_every_template(name: str) -> None:
    """It is on, nothing turns it off, attributes are quoted and take plain text."""
    source = (PACKAGE / "templates" / name).read_text("utf-8")
    assert environment("html").autoescape is True
    tree = environment("html").parse(source)
    changes = (nodes.ScopedEvalContextModifier, nodes.EvalContextModifier, nodes.Mod, nodes.FilterBlock)
    assert not [*tree.find_all(changes)]
    filters = {found.name for found in tree.find_all(nodes.Filter)}
    assert filters.isdisjoint({"safe", "raw", "xmlattr", "urlize", "tojson"})
    for tag in re.findall(r"<[a-z][^<>]*>", re.sub(r"{[#%].*?[#%]}", "", source, flags=re.DOTALL)):
        for value in re.findall(r"{{(.*?)}}", tag):
            assert re.search(r"\|(plain|clip_plain\([^()]*\))$", value.strip()), tag
        assert not re.search(r"=(?!\")", re.sub(r"{{.*?}}|\"[^\"]*\"", '"', tag)), tag


def test_the_wheel_holds_every_template_style_sheet_and_script() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["scorer"]
    held = {path for pattern in patterns for path in (ROOT / "scorer").glob(pattern)}
    assert {path for path in PACKAGE.rglob("*.*") if path.suffix in (".jinja", ".css", ".js")} <= held


def test_figures_as_text_and_cuts_that_say_how_much_is_missing() -> None:
    assert text.points(-0.047) == "−4.7"
    assert (text.small(0.0004), text.small(0.9997)) == ("<0.001", ">0.999")
    assert (text.span(0.0, 0.00001), text.span(None, 0.1)) == ("0–<0.01", "")
    data = environment("html").get_template("macros.html.jinja").make_module({"limits": Limits()}).data  # type: ignore[attr-defined]
    assert data("abc", 3) == '<bdi class="data">abc</bdi>'
    assert parse(data("abcdef", 4)).text == "abcd … 2 more characters"
    assert (clip_plain("abcdef", 4), clip_plain("abcd", 4)) == ("abcd…", "abcd")
    assert clip("\u202e" * 64, 64).more > 0  # each costs more bytes than any letter


def charted(call: str, **names: object) -> Node:
    source = f'{{% from "macros.html.jinja" import interval, spark %}}{{{{ {call} }}}}'
    return parse(environment("html").from_string(source).render(names, limits=Limits()))


def at(node: Node, *names: str) -> list[float]:
    return [float((node.attributes[name] or "").rstrip("%")) for name in names]


def test_charts_are_drawn_to_scale() -> None:
    rate = Rate(count=10, n=100, value=0.1, low=0.08, high=0.13)
    svg = charted('interval(rate, 0.2, 0.05, "omission")', rate=rate).one("svg", class_="interval")
    (whisker,), (before,) = svg.find("line", class_="whisker omission"), svg.find("line", class_="before")
    assert [*at(svg.one("circle"), "cx"), *at(whisker, "x1", "x2"), *at(before, "x1")] == [50, 40, 65, 25]
    # A line over the runs breaks at one without a figure.
    root = charted("spark([0.05, 0.1, none, 0.0, 0.02], 0.1)")
    drawn = [at(line, "x1", "x2", "y2") for line in root.find("line", class_="trend-line")]
    assert drawn == [[0, 24.5, 4], [73.5, 98, 32.8]]
    assert at(root.one("circle"), "cx", "cy") == [98, 32.8]
