"""The page: complete, correct in its figures, self-contained, small, and deaf to what the data says."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from importlib import resources
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

import scorer.audit.report
from scorer.audit.report import MAX_BYTES, Audit, environment, render, text
from scorer.audit.report.text import Limits, clip, clip_plain, framed, plain
from scorer.stats.intervals import rate
from tests.audit.report.documents import TEXTS, document, huge, infected
from tests.audit.report.parsing import Node, parse
from tests.conftest import ROOT


def rows_of(root: Node, caption: str) -> list[list[str]]:
    """The cells of a table."""
    (table,) = [table for table in root.find("table") if table.one("caption").words.startswith(caption)]
    body = table.one("tbody").find("tr")
    return [[cell.words for cell in row.children if isinstance(cell, Node)] for row in body]


def elements(root: Node) -> dict[str, list[set[str]]]:
    """The attributes of every element, by the element's name."""
    found: dict[str, list[set[str]]] = {}
    for node in root.walk():
        found.setdefault(node.name, []).append(set(node.attributes))
    return found


@pytest.fixture(scope="module")
def page() -> Node:
    return parse(render(document()))


def test_the_first_screen_says_what_broke(page: Node) -> None:
    header = page.one("header", class_="top fail")
    assert header.one("h1").words == "Failed"
    assert header.words.count("tgen: customer rating omitted in 1,980 of 4,210, before in 172 of 4,190") == 2
    for said in (
        "gate: not_ok_rate of system = tgen rose by 4.7 points",
        "42 rows got worse, 17 got better.",
        "Errors: too_long:hallucination 51, null_text 2.",
        "2,678 rows added, 2,410 removed, 45,532 kept.",
        "2 kept rows changed label.",
        "The template of “customer rating” looks wrong",
        document().signature,
    ):
        assert said in header.words
    assert rows_of(page, "Rows that are not OK by system")[0][0] == "tgen"


def test_figures_stand_with_their_intervals_and_failed_gates_first(page: Node) -> None:
    rows = rows_of(page, "Rates by system")
    assert rows[0][:3] == ["All rows", "48,210", "4,859 10.1%9.8–10.4%+2,265 (+4.3 to +5.1)"]
    assert [cell.split("+")[0] for cell in rows[1][:4]] == [
        "tgen",
        "16,070",
        "1,980 12.3%11.8–12.8%",
        "1,511 9.4%9.0–9.9%",
    ]
    assert rows[4][0] == "null"
    rows = [row for caption in ("Gates, failed", "The other gates") for row in rows_of(page, caption)]
    assert [row[0] for row in rows] == ["failed", "warning", "passed", "passed", "passed", "silent"]
    assert rows[0][2:] == ["tgensystem", "+4.7 points", "> +1.0 points", "> +3.0 points", "16,070"]
    assert rows[1][2:6] == ["All rows", "7.1%6.6–7.4%", "> 5.0%", "> 10.0%"]
    assert rows[4][3:6] == ["0.903", "< 0.850", "< 0.800"]
    assert rows[5][1].endswith("silent: it needs 200 rows (min_rows), there are 37")


def test_every_row_is_explained(page: Node) -> None:
    cases = [case.words for case in page.find("li", class_="case")]
    heads = [re.search(r"part-\d+\.parquet:\d+", case)[0] for case in cases]
    assert len({*heads}) == len(heads) == 8  # no row is there twice
    found = [case.words for case in page.one("section", id="worst").find("li", class_="case")]
    expected = ("P(facts → text)", "empty_text", "too_long:hallucination", "The text is null.")
    assert all(any(text in case for case in found) for text in expected)
    assert any("omitted: Blue Spice is located by the riverside." in case for case in cases)


def test_long_lists_are_folded_to_five_with_a_count() -> None:
    long = document()
    gates, rows = long.gates[2:3] * 12, long.worst[4:5]
    long.gates = gates
    long.worst = [msgspec.structs.replace(rows[0], row=1000 + i) for i in range(8)]
    root = parse(render(long))
    for name, kind, hidden in (("gates", "tr", 7), ("worst", "li", 3)):
        section = root.one("section", id=name)
        (more,) = section.find("details")
        assert more.one("summary").words == f"{hidden} more"
        inside = more.find("li", class_="case") if kind == "li" else more.one("tbody").find("tr")
        assert len(inside) == hidden


def test_the_trend_has_dates(page: Node) -> None:
    ends = page.one("section", id="trend").find("span", class_="note ends")[0]
    assert [one.words for one in ends.find("span")[1:]] == ["11-15", "11-21"]


def test_an_audit_of_no_rows_is_a_page_too() -> None:
    found = document(baseline=False, gated=False, runs=0)
    found.worst = found.findings = []
    whole = found.groups[0]
    whole.confidence.n, whole.confidence.mean, whole.predicates = 0, None, []
    whole.rates = dict.fromkeys(whole.rates, rate(0, 0))
    found.groups = found.groups[:1]
    root = parse(render(found))
    assert rows_of(root, "Rates.")[0][2] == "–"
    assert "No baseline was given" in root.one("header").words
    assert not root.find("section", id="worse")


def test_the_page_is_self_contained(page: Node) -> None:
    """Its policy lets in its own style sheet and script alone; no attribute loads, runs or leads out."""
    given = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"] or ""
    expected = {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    for kind, name, file in (("style-src", "style", "report.css"), ("script-src", "script", "report.js")):
        content = page.one(name).text
        assert content == resources.files("scorer.audit.report").joinpath(file).read_text("utf-8")
        expected[kind] = f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
        assert not re.search(r"url\(|@import|fetch|XMLHttpRequest|innerHTML|eval", content)
    assert dict(part.strip().split(" ", 1) for part in given.split(";")) == expected
    first = [child.attributes for child in page.one("head").children if isinstance(child, Node)]
    assert "http-equiv" in first[1]  # the policy stands before anything it is to govern
    loads = {"style", "src", "action", "formaction", "srcset", "poster", "ping", "xlink:href"}
    for node in page.walk():
        assert not loads & node.attributes.keys() and not [name for name in node.attributes if name.startswith("on")]
    assert "://" not in render(document())


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_hostile_rows_add_no_element_and_no_attribute(text: str, page: Node) -> None:
    markup = render(infected(text))
    root = parse(markup)
    known, found = elements(page), elements(root)
    assert set(found) <= set(known)
    for name in found:
        assert set().union(*found[name]) <= set().union(*known[name]) | {"class"}, name
    for name in ("script", "style", "h1", "main", "html", "body", "base", "form", "img", "iframe"):
        assert len(found.get(name, [])) == len(known.get(name, [])), name
    assert root.one("script").text == page.one("script").text
    for node in root.walk():
        assert (node.attributes.get("href") or "#").startswith(("#", "data:,"))
    markup.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", markup)


def test_it_stays_below_its_size_however_large_the_data() -> None:
    markup = render(huge("\u202e", 320))  # nothing costs more bytes for a character
    assert len(markup.encode()) < MAX_BYTES
    root = parse(markup)
    assert root.find("li", class_="case")
    assert "more are not shown" in root.one("section", id="predicates").find("caption")[-1].words


def test_a_trend_needs_two_runs() -> None:
    assert not parse(render(document(runs=1))).find("section", id="trend")
    found = rows_of(parse(render(document(runs=2))), "Rows that are not OK, over 2 runs, 2026-11-20 to 2026-11-21")
    assert [row[0] for row in found] == ["All rows", "tgensystem"]
    assert found[1][2:] == ["7.6%", "12.7%", "12.7%"]


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing() -> None:
    frame = parse(Audit(document())._repr_html_()).one("iframe")
    assert frame.attributes["sandbox"] == "allow-scripts"  # with an origin, the script could reach the notebook
    assert frame.attributes["srcdoc"] == render(document())
    root = parse(Audit(infected('"></iframe><script>window.pwned = 1</script>'))._repr_html_())
    assert [node.name for node in root.walk()] == ["root", "iframe"]


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


def at(node: Node, *names: str) -> list[float]:
    return [float((node.attributes[name] or "").rstrip("%")) for name in names]


def test_a_trend_is_drawn_to_scale_and_breaks_at_a_run_without_a_figure() -> None:
    source = '{% from "macros.html.jinja" import spark %}{{ spark([0.05, 0.1, none, 0.0, 0.02], 0.1) }}'
    root = parse(environment("html").from_string(source).render(limits=Limits()))
    assert [at(line, "x1", "x2", "y2") for line in root.find("line")] == [[0, 24.5, 4], [73.5, 98, 32.8]]
    assert at(root.one("circle"), "cx", "cy") == [98, 32.8]
