"""Sentences that say several facts: which are used, in which wording, and that the rest of a row stays as it is; also
compared with the rules row by row."""

from __future__ import annotations

import operator
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.errors import TemplateError
from scorer.metric import Options
from scorer.metric.checks import ALL_FACTS, HALLUCINATION, OMISSION, Checks, build_checks
from scorer.metric.columns import fact_positions, row_keys, to_worded_facts
from scorer.metric.fact_templates import Templates, parse_optional
from scorer.metric.facts import Rows, Triple, from_arrow
from scorer.metric.joining import SentenceUses, join, joint_positions
from scorer.metric.verdict import decide
from scorer.scoring.pipeline import count_facts
from scorer.scoring.tables import from_fact_pairs, from_pairs
from scorer.status import SCORED

Fact = tuple[str, str, str]
OPTIONAL = frozenset[tuple[str, str]]
SCORE = {
    "$sentences": ["<home> <goals>-<against> <away>.", "<home> played at <ground>."],
    "$aliases": {"hosts": "home"},
    "goals": "<subject> had <object> goals.",
}
RESULT = {
    "$sentences": [
        [
            {"when": "<goals> > <against>", "say": "<home> beat <away> <goals>-<against>."},
            {"when": "<goals> < <against>", "say": "<away> beat <home> <against>-<goals>."},
            {"when": "<goals> = <against>", "say": "<home> and <away> drew, <goals>-<against>."},
        ]
    ]
}
GAME = [("m", "home", "A"), ("m", "away", "B"), ("m", "goals", "2"), ("m", "against", "0")]
SINGLE = ["The home of m is A.", "The away of m is B.", "m had 2 goals.", "The against of m is 0."]


def asked_facts(facts: list[Fact], content: dict[str, Any], optional: OPTIONAL = frozenset()) -> list[str]:
    templates = Templates.from_dict(content)
    rows = join(from_pairs([(facts, "t")]), templates, optional)
    checks = build_checks(rows, templates, Options(optional=optional))
    return [checks.texts[checks.facts[i]] for i in rows.triples.ids.tolist()]


@pytest.mark.parametrize(
    ("facts", "asked"),
    [
        pytest.param(GAME, ["A 2-0 B."], id="each predicate once"),
        pytest.param([*GAME, ("m", "referee", "C")], ["A 2-0 B.", "The referee of m is C."], id="others stay"),
        pytest.param([("m", "referee", "C"), *GAME], ["The referee of m is C.", "A 2-0 B."], id="at its first fact"),
        pytest.param([*GAME, ("m", "ground", "G")], ["A 2-0 B.", "A played at G."], id="a part is said already"),
        pytest.param(GAME[:3], SINGLE[:3], id="one is missing"),
        pytest.param([*GAME, ("m", "goals", "3")], [*SINGLE, "m had 3 goals."], id="one occurs twice"),
        pytest.param([*GAME, GAME[2]], [*SINGLE, SINGLE[2]], id="one is repeated"),
        pytest.param([("m", "hosts", "A"), *GAME[1:]], ["A 2-0 B."], id="an alias"),
        pytest.param([*GAME, ("m", "hosts", "A")], [*SINGLE, "The hosts of m is A."], id="under both spellings"),
        pytest.param([*GAME, *(("n", p, f"{o}x") for _, p, o in GAME)], ["A 2-0 B.", "Ax 2x-0x Bx."], id="subjects"),
        pytest.param(
            [*GAME[:3], ("n", "against", "0")], [*SINGLE[:3], "The against of n is 0."], id="of another subject"
        ),
        pytest.param(
            [("m", "home", '"A_B"'), *GAME[1:3], ("m", "against", "<away>")], ["A B 2-<away> B."], id="in one pass"
        ),
    ],
)  # fmt: skip
def test_a_sentence_is_used_for_a_subject_that_has_each_of_its_predicates_once(
    facts: list[Fact], asked: list[str]
) -> None:
    assert asked_facts(facts, SCORE) == asked


@pytest.mark.parametrize(
    ("sentences", "facts", "asked"),
    [
        (["<a> <b>.", "<b> <a>!"], [("m", "a", "1"), ("m", "b", "2")], ["1 2."]),  # all is said by the first
        (["<a> <b>.", "<b> <c>.", "<a> <c>!"], [("m", p, p) for p in "abc"], ["a b.", "b c."]),
        (["<b> <c>.", "<a> <b> <c>."], [("m", p, p) for p in "abc"], ["a b c.", "b c."]),
        (["<subject>: <a> <b>, <a>."], [("m", "b", "2"), ("m", "a", "1")], ["m: 1 2, 1."]),
    ],
)
def test_earlier_sentences_come_first(sentences: list[str], facts: list[Fact], asked: list[str]) -> None:
    assert asked_facts(facts, {"$sentences": sentences}) == asked


@pytest.mark.parametrize(
    ("goals", "against", "asked"),
    [
        ("2", "0", ["A beat B 2-0."]),
        ("2", "10", ["B beat A 10-2."]),  # as numbers, not as texts
        ("1", "1.0", ["A and B drew, 1-1.0."]),
        ("two", "two", ["A and B drew, two-two."]),  # texts may be equal
        ("two", "10", [*SINGLE[:2], "The goals of m is two.", "The against of m is 10."]),  # no order of texts
    ],
)  # fmt: skip
def test_the_first_wording_whose_condition_holds_is_used(goals: str, against: str, asked: list[str]) -> None:
    assert asked_facts([*GAME[:2], ("m", "goals", goals), ("m", "against", against)], RESULT) == asked


@pytest.mark.parametrize(
    ("when", "holds_for", "fails_for"),
    [
        ("<a> = 1", ["1", "1.0", "+1", "01", '"1"'], ["2", "-1", "one", "1e0", "1,0"]),
        ("<a> != 1", ["2", "-1", "one", "1e0", "1,0"], ["1", "1.0"]),
        ("<a> <= -0.5", ["-0.5", "-1"], ["0", "minus 1", "-0.49999999999999999999"]),
        ("<a>>=10", ["10", "10.5", "100000000000000000000000000001"], ["9", "x"]),
        (' <a> = "not yet" ', ["not yet", "not_yet", '"not yet"'], ["Not yet", "yet"]),
        ("<a> = 'say \"no\"'", ['say "no"'], ["no"]),
        ('<a> = "1"', ["1"], ["1.0"]),
        ("<a> != '1'", ["2", "1.0"], ["1"]),
        ("<a> = <b>", ["b"], ["c"]),
        ("<a> = <subject>", ["m"], ["M"]),
        ("<b> < <a>", [], ["1", "c"]),
    ],
)
def test_what_a_condition_holds_for(when: str, holds_for: list[str], fails_for: list[str]) -> None:
    content = {"$sentences": [[{"when": when, "say": "<a> <b>"}]]}
    for value in [*holds_for, *fails_for]:
        asked = asked_facts([("m", "a", value), ("m", "b", "b")], content)
        assert len(asked) == (1 if value in holds_for else 2), value


def test_optional_facts_and_facts_that_are_not_selected_take_no_part() -> None:
    assert asked_facts(GAME, SCORE, parse_optional(["goals=2"])) == SINGLE
    twice = [*GAME, ("m", "goals", "3")]
    assert asked_facts(twice, SCORE, parse_optional(["goals=3"])) == ["A 2-0 B.", "m had 3 goals."]
    rows = from_arrow(from_pairs([(GAME, "t")] * 2).triples, pa.array(["t", "t"]), [[0, 1, 2], None])
    assert join(rows, Templates.from_dict(SCORE), frozenset()).triples.lengths.tolist() == [4, 1]


def test_rows_without_such_sentences_are_returned_as_they_are() -> None:
    rows = from_pairs([(GAME[:3], "t"), ([("n", "home", "A")], "t")])
    assert join(rows, Templates.from_dict({"goals": "<object>"}), frozenset()) is rows
    assert join(rows, Templates.from_dict(SCORE), frozenset()) is rows
    facts = from_fact_pairs([(["home", "away"], "t")])
    assert join(facts, Templates.from_dict(SCORE), frozenset()) is facts


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        ("x", r"'\$sentences' is 'x' \(str\), not a list"),
        (["<home> won."], r"sentence 1 of '\$sentences' says one predicate, 'home'; write it as the templ"),
        (["<a> <b>", "It won."], r"sentence 2 of '\$sentences' has no slot of a predicate: 'It won.'"),
        (["<subject> <a>"], "says one predicate, 'a'"),
        (["<a> <object>"], "has <object>: it says several facts"),
        (["{subject} <a> <b>"], "found {subject} in .*did you mean <subject>"),
        ([[]], r"is \[\] \(list\); write a string, or a list of {\"when\""),
        ([3], r"is 3 \(int\); write a string, or a list"),
        (["  "], "has no slot of a predicate: '  '"),
        ([["<a> <b>"]], r"sentence 1 of '\$sentences', wording 1 is '<a> <b>' \(str\); write {\"when\""),
        ([[{"say": "<a> <b>"}]], "wording 1 is {'say'"),
        ([[{"when": "<a> = 1", "say": "<a> <b>", "else": ""}]], "wording 1 is {"),
        ([[{"when": "<a> = 1", "say": 1}]], r"wording 1 is 1 \(int\), not a string"),
        ([[{"when": 1, "say": "<a> <b>"}]], r"'when' is 1 \(int\); write one comparison, such as <home_goals>"),
        ([[{"when": "a = 1", "say": "<a> <b>"}]], "'when' is 'a = 1'"),
        ([[{"when": "<a> == 1", "say": "<a> <b>"}]], "'when' is '<a> == 1'"),
        ([[{"when": "<a> = 1 or <b> = 2", "say": "<a> <b>"}]], "write one comparison"),
        ([[{"when": "1 < <a>", "say": "<a> <b>"}]], "write one comparison"),
        ([[{"when": "<a> < 'x'", "say": "<a> <b>"}]], "texts compare by = and != alone"),
        ([[{"when": "<c> = 1", "say": "<a> <b>"}]], "'when' has <c>, which no 'say' has"),
        ([[{"when": "<a> = <c>", "say": "<a> <b>"}]], "'when' has <c>, which no 'say' has"),
        ([[{"when": "<a> = 1", "say": "<a> <b>"}, {"when": "<a> = 2", "say": "<a> <b> <c>"}]],
         "wordings 1 and 2 differ in <c>; every 'say' names the same predicates"),
    ],
)  # fmt: skip
def test_bad_sentences_are_refused_in_one_line(sentences: object, message: str) -> None:
    with pytest.raises(TemplateError, match=f"^templates: .*{message}") as raised:
        Templates.from_dict({"$sentences": sentences})
    assert "\n" not in str(raised.value)


def test_an_alias_in_a_sentence_is_refused_unless_it_has_a_template() -> None:
    content: dict[str, Any] = {"b": "<object>", "$sentences": ["<a> <c>"], "$aliases": {"a": "b"}}
    with pytest.raises(TemplateError, match=r"'\$sentences' has <a>, an alias of 'b'; write <b>"):
        Templates.from_dict(content)
    assert Templates.from_dict(content | {"a": "<object>"}).joint[0].predicates == ("a", "c")


def test_the_order_of_sentences_is_part_of_the_digest() -> None:
    one, other = (
        Templates.from_dict({"$sentences": order}) for order in (["<a> <b>", "<b> <c>"], ["<b> <c>", "<a> <b>"])
    )
    assert one.sha256 != other.sha256


def test_a_sentence_that_fails_marks_all_its_facts_and_counts_by_predicate_stay() -> None:
    templates = Templates.from_dict(SCORE)
    facts = [GAME[0], ("m", "referee", "C"), *GAME[1:]]
    given_rows = from_pairs([(facts, "A won."), ([("m", "home", "A")], "A won."), (facts, "")])
    rows = join(given_rows, templates, frozenset())
    checks = build_checks(rows, templates, Options())
    entailed = np.where(
        checks.kind == OMISSION, [checks.texts[h] == "The home of m is A." for h in checks.hypothesis], 1
    )
    probabilities = np.stack([1 - entailed, np.zeros(len(entailed)), entailed], axis=1).astype(np.float32)
    columns = decide(rows, checks, probabilities, np.full(len(entailed), SCORED, np.int8)).columns
    assert columns["omitted"].to_pylist() == [[0, 1, 2, 3, 4], [], [0, 1, 2, 3, 4]]
    assert columns["fact_entailment"].to_pylist() == [[0] * 5, [1], None]
    assert columns["confidence"].to_pylist() == [0, 1, 0]
    assert to_worded_facts(rows, checks).to_pylist()[0] == ["A 2-0 B.", "The referee of m is C.", *["A 2-0 B."] * 3]
    assert joint_positions(rows.triples, 0) == [[0, 2, 3, 4]] and joint_positions(rows.triples, 1) == []
    counted = count_facts(rows.triples, checks.backoff)
    assert {name: (one.template, one.backoff) for name, one in counted.by_predicate.items()} == {
        "home": (2, 1), "referee": (0, 2), "away": (2, 0), "goals": (2, 0), "against": (2, 0),
    }  # fmt: skip
    assert (counted.template, counted.backoff) == (8, 3)


def test_no_template_is_missing_for_facts_that_a_sentence_says() -> None:
    templates = Templates.from_dict({"$sentences": ["<p> <q>."]})
    options, facts = Options(missing_template="error"), [("m", "p", "1"), ("m", "q", "2")]
    build_checks(join(from_pairs([(facts, "t")]), templates, frozenset()), templates, options)
    with pytest.raises(TemplateError, match="no template for predicate 'p'"):
        build_checks(join(from_pairs([(facts, "t"), (facts[:1], "t")]), templates, frozenset()), templates, options)


@pytest.mark.parametrize(
    ("sentences", "why"),
    [
        (["<home> <away>"], None),
        (["<home> <gaols>"], "no fact has the predicate 'gaols'; did you mean 'goals'?"),
        (["<home> <zzzzzz>"], "no fact has the predicate 'zzzzzz'"),
        (["<gaol> <home> <zzzzzz>"], "no fact has the predicates 'gaol', 'zzzzzz'; did you mean 'goals'?"),
        (["<home> <alone>"], "no subject of a row has all its predicates"),
        (["<home> <twice>"], "each subject that has all its predicates has one of them twice"),
        (["<home> <away> <goals>", "<goals> <away>"], "earlier sentences say all its facts"),
        ([[{"when": "<goals> > 5", "say": "<home> <goals>"}]], "none of its conditions holds"),
    ],
)
def test_why_a_sentence_is_never_used(sentences: list[Any], why: str | None) -> None:
    uses = SentenceUses(Templates.from_dict({"$sentences": sentences}), frozenset())
    others = [("m", "twice", "1"), ("m", "twice", "2"), ("n", "alone", "1")]
    for triples in (GAME, [*GAME, *others]):
        uses.join(from_pairs([(triples, "t")]))
    last = uses.report()[-1]
    assert (last.unused or "").startswith(why or "") and (last.unused is None) is (why is None)
    assert last.subjects == (2 if why is None else 0) and uses.facts == sum(use.facts for use in uses.report())


# --- the rules, row by row ---

PREDICATES = st.sampled_from(["home", "away", "goals", "against", "ground", "hosts", "x"])
FACTS = st.lists(
    st.tuples(st.sampled_from("mn"), PREDICATES, st.sampled_from(["A", '"B c"', "1", "2", "10"])), max_size=9
)
SENTENCES = st.lists(
    st.sampled_from([*SCORE["$sentences"], *RESULT["$sentences"], "<ground>, <x>.",
                     [{"when": "<x> = 'A'", "say": "<x> at <home>."}], "<goals> of <subject>, <x>!"]),
    max_size=4,
)  # fmt: skip
OPTIONALS = st.sampled_from([frozenset[tuple[str, str]](), parse_optional(["goals=1", "home=A"])])
NUMBER = re.compile(r"[0-9]+")
COMPARE = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt}


@given(st.lists(st.tuples(FACTS, st.booleans()), min_size=1, max_size=5), SENTENCES, OPTIONALS)
def test_every_row_is_as_the_rules_say(
    table: list[tuple[list[Fact], bool]], sentences: list[Any], optional: OPTIONAL
) -> None:
    templates = Templates.from_dict({**SCORE, "$sentences": sentences, "$aliases": {"hosts": "goals"}})
    facts = from_pairs([(triples, "") for triples, _ in table]).triples
    texts = pa.array([f"Text {row}." for row in range(len(table))])
    rows = from_arrow(facts, texts, [[0] if triples and limited else None for triples, limited in table])
    joined = join(rows, templates, optional)
    assert row_keys(joined) == row_keys(rows)
    checks = build_checks(joined, templates, Options("nlgi_eval", optional=optional))
    worded = to_worded_facts(joined, checks).to_pylist()
    for row, (triples, limited) in enumerate(table):
        used = list(range(len(triples)))[: 1 if limited else None]
        expected = said_by([Triple(*fact) for fact in triples], used, sentences, templates, optional)
        assert (worded[row] or []) == [text for text, _ in expected]
        asked = [(place, text) for place, (text, first) in enumerate(expected) if first == place and place in used]
        required = [one for one in asked if not templates.is_optional(Triple(*triples[one[0]]), optional)]
        assert checks_of(joined, checks, row, OMISSION) == required
        premise = " ".join(text for _, text in asked)
        assert checks_of(joined, checks, row, HALLUCINATION) == ([premise] if asked else [])
        assert checks_of(joined, checks, row, ALL_FACTS) == ([" ".join(t for _, t in required)] if required else [])


def checks_of(rows: Rows, checks: Checks, row: int, kind: int) -> list[Any]:
    """The checks of a row: positions and facts, or premises or hypotheses of all facts."""
    numbers = np.flatnonzero((checks.row == row) & (checks.kind == kind)).tolist()
    ids = checks.premise if kind == HALLUCINATION else checks.hypothesis
    positions = fact_positions(rows, checks)
    texts = [checks.texts[ids[c]] for c in numbers]
    return [(int(positions[c]), text) for c, text in zip(numbers, texts, strict=True)] if kind == OMISSION else texts


def said_by(
    triples: list[Triple], used: list[int], sentences: list[Any], templates: Templates, optional: OPTIONAL
) -> list[tuple[str, int]]:
    """What says each fact of a row, and the position of the first fact that it says; without numpy."""
    said: dict[int, tuple[str, int]] = {}
    free = [i for i in used if not templates.is_optional(triples[i], optional)]
    for sentence in sentences:
        for subject in dict.fromkeys(triple.subject for triple in triples):
            mine = [i for i in free if triples[i].subject == subject]
            names = {i: "goals" if triples[i].predicate == "hosts" else triples[i].predicate for i in mine}
            example = sentence if isinstance(sentence, str) else sentence[0]["say"]
            wanted = {*re.findall("<(.*?)>", example)} - {"subject"}
            members = [i for i in mine if names[i] in wanted]
            if Counter(names[i] for i in members) != Counter(wanted) or all(i in said for i in members):
                continue
            values = {names[i]: triples[i].object.strip('"') for i in members} | {"subject": subject}
            wordings = (
                [sentence] if isinstance(sentence, str) else [w["say"] for w in sentence if holds(w["when"], values)]
            )
            if wordings:
                text = re.sub("<(.*?)>", lambda slot, values=values: values[slot[1]], wordings[0])
                new = [i for i in members if i not in said]
                said.update(dict.fromkeys(new, (text, min(new))))
    return [said.get(i, (templates.fill(triple).text, i)) for i, triple in enumerate(triples)]


def holds(when: str, values: dict[str, str]) -> bool:
    left, compare, right = when.split()
    one, other = values[left[1:-1]], values[right[1:-1]] if right[0] == "<" else right.strip("'")
    if NUMBER.fullmatch(one) and NUMBER.fullmatch(other):
        return COMPARE[compare](Decimal(one), Decimal(other))
    return compare in "!=" and COMPARE[compare](one, other)
