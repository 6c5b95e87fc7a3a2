"""Text stays text, whatever it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scorer.audit.report
from scorer.audit.report.markup import Html, cost, element, join, plain, text
from tests.audit.report.hostile import TEXTS
from tests.audit.report.parsing import parse

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)


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
    assert shown(text(value)) == value.replace("\r\n", "\n")


@pytest.mark.parametrize("value", TEXTS.values(), ids=TEXTS.keys())
def test_hostile_texts_are_read_back(value: str) -> None:
    assert shown(text(value)) == value.replace("\r\n", "\n")
    text(value).encode()  # no half of a surrogate pair is left


@given(ANY_TEXT)
def test_an_attribute_holds_the_text_and_nothing_gets_out_of_it(value: str) -> None:
    node = parse(element("p", "x", title=value)).one("p")
    assert set(node.attributes) == {"title"}
    assert node.attributes["title"] == plain(value)
    assert node.text == "x"


@given(ANY_TEXT)
def test_the_cost_of_a_text_is_never_underrated(value: str) -> None:
    assert len(text(value).encode()) <= cost(value)


def test_what_turns_the_line_or_hides_is_spelled_out() -> None:
    assert text("a\u202eb") == 'a<span class="unseen">U+202E</span>b'
    assert text("\u2028") == '<span class="unseen">U+2028</span>'
    assert plain("a\u2067b\x00") == "a[U+2067]b[U+0000]"
    assert (
        text("👩\u200d🚒 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
        == "👩\u200d🚒 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    )


def test_children_are_escaped_unless_they_are_markup() -> None:
    assert element("b", "<i>", element("i", "&"), None, ["<", None]) == "<b>&lt;i&gt;<i>&amp;</i>&lt;</b>"
    assert join("<", Html("<br>")) == "&lt;<br>"


def test_attributes_are_written_as_html_has_them() -> None:
    assert (
        element("td", class_="n", data_by=1.5, hidden=True, scope=None, x=False)
        == '<td class="n" data-by="1.5" hidden></td>'
    )
    assert element("meta", name="a", http_equiv="b") == '<meta name="a" http-equiv="b">'


@pytest.mark.parametrize("name", ["a b", "a>", "", "1", 'a"'])
def test_names_from_data_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no element name"):
        element(name)
    with pytest.raises(ValueError, match="no attribute name"):
        element("a", **{name: "x"})


def test_only_two_files_call_a_string_markup() -> None:
    """Elsewhere there is no way round :func:`element`, ``trusted`` is given literals and the package's files."""
    folder = Path(scorer.audit.report.__file__).parent
    calls = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Html", "trusted"):
                calls.append((path.name, node.func.id, ast.unparse(node.args[0])))
    outside = [call for call in calls if call[0] != "markup.py"]
    assert {call[:2] for call in outside} == {("page.py", "trusted")}
    literal = re.compile(r"'[^']*'|resources\.files\(__package__\)\.joinpath\(name\)\.read_text\('utf-8'\)")
    assert all(literal.fullmatch(argument) for _, _, argument in outside), outside
