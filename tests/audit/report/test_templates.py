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
    node = parse(rendered('<p title="{{ value|plain }}">x</p>', value=value)).one("p")
    assert node.attributes == {"title": plain(value)}
    assert node.text == "x"


def test_what_turns_the_line_or_hides_is_spelled_out() -> None:
    assert framed("a\u202eb") == "a<span class=unseen>U+202E</span>b"
    assert plain("a\u2067b\x00") == "a[U+2067]b[U+0000]"
    joined = "👩\u200d🚒 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert framed(joined) == joined
    assert framed("line\n\tnext\r\nwindows") == "line\n\tnext\nwindows"


def test_a_line_break_of_a_template_is_nothing_and_a_name_that_is_not_there_is_an_error() -> None:
    assert rendered("<p>\n  {{ value }}  \n\n</p>\n", value="a\n b") == "<p>a\n b</p>"
    for template in ("{{ nothing }}", "{{ value.nothing }}", "{% if nothing %}x{% endif %}"):
        with pytest.raises(UndefinedError):
            rendered(template, value="x")


@pytest.mark.parametrize("name", TEMPLATES)
def test_autoescape_holds_in_every_template(name: str) -> None:
    """It is on, nothing turns it off, attributes are quoted and take plain text."""
    assert environment("html").autoescape is True
    tree = environment("html").parse(source(name))
    assert not [*tree.find_all((nodes.ScopedEvalContextModifier, nodes.EvalContextModifier))], "autoescape is changed"
    filters = {found.name for found in tree.find_all(nodes.Filter)}
    assert filters.isdisjoint({"safe", "raw", "xmlattr", "urlize", "tojson"})
    assert not [*tree.find_all((nodes.Mod, nodes.FilterBlock))]
    for tag in re.findall(r"<[a-z][^<>]*>", re.sub(r"{[#%].*?[#%]}", "", source(name), flags=re.DOTALL)):
        for value in re.findall(r"{{(.*?)}}", tag):
            assert re.search(r"\|(plain|clip_plain\([^()]*\))$", value.strip()), tag
        assert not re.search(r"=(?!\")", re.sub(r"{{.*?}}|\"[^\"]*\"", '"', tag)), tag


def test_the_wheel_holds_every_template_style_sheet_and_script() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["scorer"]
    held = {path for pattern in patterns for path in (ROOT / "scorer").glob(pattern)}
    assert {path for path in PACKAGE.rglob("*.*") if path.suffix in (".jinja", ".css", ".js")} <= held


def test_figures_as_text() -> None:
    assert text.points(-0.047) == "−4.7"
    assert (text.small(0.0004), text.small(0.9997)) == ("<0.001", ">0.999")
    assert text.span(0.0, 0.00001) == "0–<0.01"
    assert text.span(None, 0.1) == ""


def test_a_cut_text_says_how_much_is_missing() -> None:
    data = environment("html").get_template("macros.html.jinja").make_module({"limits": Limits()}).data  # type: ignore[attr-defined]
    assert data("abc", 3) == '<bdi class="data">abc</bdi>'
    assert parse(data("abcdef", 4)).text == "abcd … 2 more characters"
    assert clip("abcdef", 4) == ("abcd", 2)
    assert (clip_plain("abcdef", 4), clip_plain("abcd", 4)) == ("abcd…", "abcd")
    assert clip("\u202e" * 64, 64).more > 0  # each costs more bytes than any letter


def charted(call: str, **names: object) -> Node:
    source = f'{{% from "macros.html.jinja" import interval, spark %}}{{{{ {call} }}}}'
    return parse(environment("html").from_string(source).render(names, limits=Limits()))


def at(node: Node, name: str) -> float:
    return float((node.attributes[name] or "").rstrip("%"))


def lines(root: Node, kind: str) -> list[Node]:
    return [node for node in root.find("line") if kind in (node.attributes.get("class") or "").split()]


def test_an_interval_is_drawn_to_scale() -> None:
    rate = Rate(count=10, n=100, value=0.1, low=0.08, high=0.13)
    svg = charted('interval(rate, 0.2, 0.05, "omission")', rate=rate).one("svg", class_="interval")
    assert at(svg.one("circle"), "cx") == 50
    (whisker,), (before,) = lines(svg, "whisker"), lines(svg, "before")
    assert (at(whisker, "x1"), at(whisker, "x2"), at(before, "x1")) == (40, 65, 25)
    assert svg.attributes["aria-hidden"] == "true"


def test_a_trend_breaks_at_a_run_without_a_figure() -> None:
    root = charted("spark([0.05, 0.1, none, 0.0, 0.02], 0.1)")
    drawn = [(at(line, "x1"), at(line, "x2"), at(line, "y2")) for line in lines(root, "trend-line")]
    assert drawn == [(0, 24.5, 4), (73.5, 98, 32.8)]
    assert (at(root.one("circle"), "cx"), at(root.one("circle"), "cy")) == (98, 32.8)
