"""The notation of ``--reading plain``: what it writes, what it leaves alone, and that values stay apart."""

from __future__ import annotations

import re
from datetime import date, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.metric import Options, plain
from scorer.metric.checks import Checks, build_checks
from scorer.metric.fact_templates import Fact, Templates
from scorer.metric.facts import Triple
from scorer.scoring.tables import from_pairs

PLAIN = Options(reading="plain")
Facts = list[tuple[str, str, str]]


def checks_of(facts: Facts, text: str, templates: Templates | None = None) -> Checks:
    return build_checks(from_pairs([(facts, text)]), templates or Templates(), PLAIN)


def facts_and_text(facts: Facts, text: str, templates: Templates | None = None) -> tuple[list[str], str]:
    """The hypotheses of the omission checks, and the text that they are asked of."""
    checks = checks_of(facts, text, templates)
    omission = [*zip(checks.premise.tolist(), checks.hypothesis.tolist(), strict=True)][: len(facts)]
    return [checks.texts[fact] for _, fact in omission], checks.texts[omission[0][0]]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("5,947 and 1,234,567", "5947 and 1234567"),
        ("1.299,00 euros", "€1299"),
        ("EUR 13.50, $2.50, € 12.00, 12 euro", "€13.50, $2.50, €12, €12"),
        ("27.09.2026, 2026-09-27, 27/09/2026, 09/27/2026", ", ".join(["27 September 2026"] * 4)),
        ("Sept. 27, 2026 or 27th of September 2026", "27 September 2026 or 27 September 2026"),
        ("2026-09-27 00:00:00, 2026-09-27T18:30:00", "27 September 2026, 27 September 2026 18:30"),
        ("May 5th", "5 May"),
        ("at 3 p.m. The bus", "at 15:00. The bus"),
        ("12 am, 12:30 PM", "0:00, 12:30"),
        ("won 2–0", "won 2-0"),
        ("−12 °C, minus 12 degrees Celsius", "-12 °C, -12 °C"),
        ("5 kilometres, 12 percent, 85m2", "5 km, 12%, 85 m²"),
        ("a 5-kilometre run, 30 kph", "a 5 km run, 30 km/h"),
        ("**Report**\n\nAll well.\n- one", "Report. All well. one"),
        ("| Home | 2 |\n|---|---|\n| a | b | c |", "Home: 2. a, b, c"),
        ('<p class="x"><b>A</b><br>B &amp; C</p>', "A. B & C"),
        ("⭐⭐⭐ and ★★★☆☆", "3 stars and 3 of 5 stars"),
    ],
)
def test_one_notation(written: str, read: str) -> None:
    assert plain.read_texts([written]) == [read]
    assert plain.read_text(read) == read


@pytest.mark.parametrize(
    "text",
    [
        "03/04/2026", "1.234", "3,5", "3,50", "192.168.100.200", "Python 3.10", "1. FC Köln won 3-1", "1,23,456",
        "2020,500 people", "In May 10 people came", "12:30:00", "2 * 3 * 4", "10 minus 3", "x minus 3", "5 m", "10 min",
        "31.13.2026", "31.02.2026", "2026-13-01", "99.99.2026", "2026-09-27T18:30:45", "2026-09-27T24:30", "13 pm",
        "snake_case_name", "Section 2.10.1", "a < b > c", "if x <b and c> d", "</s> <mask>", "10<sup>3</sup>",
        "AT&T &copy=1", "3 dollar coins", "3 euro coins", "A$5", "a single ⭐", "*",
    ],
)  # fmt: skip
def test_what_can_be_read_in_two_ways_stays(text: str) -> None:
    assert plain.read_text(text) == text


PIECES = st.sampled_from(
    [
        "5,947", "5947", "1.234", "1,234", "12.0", "2-0", "2–0", "27.09.2026", "03/04/2026", "2026-09-27", "May", "of",
        "September 27, 2026", "3 p.m.", "3:30 pm", "15:00", "€12.50", "12 euros", "EUR", "%", "percent", "kg", "km/h",
        "m2", "minus", "−", "-", "°C", "C", "and", "**", "*", "#", "|", "<b>", "&amp;", "&", ";", "`", "\n", "- ",
        "⭐⭐", "million", "th", ",", ".", ":", "/", "1", "12", "2026", "T18:30", "a", "euro", "dollars", "00:00:00",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_a_rule_twice_is_the_rule_once(text: str) -> None:
    once = plain.notation(text)
    assert plain.notation(once) == once


@given(st.lists(st.lists(PIECES, max_size=5).map("".join) | st.lists(PIECES, max_size=5).map(" ".join), max_size=9))
def test_no_string_that_a_rule_changes_is_passed_over(texts: list[str]) -> None:
    assert plain.read_texts([*texts, None]) == [*map(plain.read_text, texts), None]
    as_sentences = [Triple("", text, "") for text in texts]
    facts = plain.read_facts(as_sentences, [Fact(text, False) for text in texts])
    assert [fact.text for fact in facts] == [*map(plain.notation, texts)]


WHOLE = st.integers(0, 10**9)
WRITE_WHOLE = st.sampled_from(["{:d}", "{:,d}"])


@given(WHOLE, WHOLE, WRITE_WHOLE, WRITE_WHOLE)
def test_two_numbers_never_become_one(first: int, second: int, write_first: str, write_second: str) -> None:
    read = plain.notation(write_first.format(first)), plain.notation(write_second.format(second))
    assert (read[0] == read[1]) == (first == second)
    assert int(read[0]) == first


AMOUNTS = st.decimals(-(10**6), 10**6, places=3)


@given(
    AMOUNTS,
    AMOUNTS,
    st.sampled_from(["{}", "{} kg", "€{}", "{}%", "{} euros", "{} degrees Celsius", "{} miles per hour"]),
)
def test_two_decimals_never_become_one(first: Decimal, second: Decimal, form: str) -> None:
    read = [plain.notation(form.format(f"{value:f}")) for value in (first, second)]
    assert (read[0] == read[1]) == (first == second)


TIMES = st.times().map(lambda clock: clock.replace(microsecond=0))


@given(st.dates(date(1000, 1, 1)), st.dates(date(1000, 1, 1)), TIMES, TIMES, st.sampled_from("T "))
def test_two_times_of_days_never_become_one(day: date, other: date, clock: time, later: time, between: str) -> None:
    read = [plain.notation(f"{d}{between}{t}") for d, t in ((day, clock), (other, later))]
    assert (read[0] == read[1]) == ((day, clock) == (other, later))


@given(TIMES, TIMES)
def test_a_time_in_two_notations_is_one_string_and_two_times_are_two(clock: time, other: time) -> None:
    of_twelve = [f"{t.hour % 12 or 12}:{t.minute:02d} {'pm' if t.hour > 11 else 'a.m.'} sharp" for t in (clock, other)]
    read = [plain.notation(written) for written in of_twelve]
    assert read[0] == f"{clock.hour}:{clock.minute:02d} sharp"
    assert (read[0] == read[1]) == ((clock.hour, clock.minute) == (other.hour, other.minute))


@given(st.dates(date(1000, 1, 1)), st.dates(date(1000, 1, 1)))
def test_one_day_in_every_notation_and_no_two_days_alike(day: date, other: date) -> None:
    month = plain.MONTHS[day.month - 1]
    forms = [
        day.isoformat(),
        f"{day:%d.%m.}{day.year}",
        f"{day.day} {month} {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.day}th of {month} {day.year}",
    ]
    if day.day > 12:
        forms += [f"{day:%d/%m}/{day.year}", f"{day:%m/%d}/{day.year}"]
    assert {plain.notation(form) for form in forms} == {f"{day.day} {month} {day.year}"}
    assert (plain.notation(day.isoformat()) == plain.notation(f"{other:%d.%m.}{other.year}")) == (day == other)


@given(st.text(max_size=60))
def test_what_has_no_digit_has_no_other_notation(text: str) -> None:
    if re.search("[0-9]", text) is None:
        assert plain.notation(text) == text


@pytest.mark.parametrize(
    ("predicate", "value", "fact"),
    [
        ("is_open", "yes", "Café Rosa is open."),
        ("can fly", "no", "Café Rosa cannot fly."),
        ("has parking", "false", "Café Rosa does not have parking."),
        ("parking", "no", "Café Rosa has no parking."),
        ("weight (kg)", "12", "The weight of Café Rosa is 12 kg."),
        ("floor area [sq m]", "1,200", "The floor area of Café Rosa is 1200 m²."),
        ("portable", "no", "The portable of Café Rosa is no."),  # what it is, not what it has
        ("open", "yes", "The open of Café Rosa is yes."),
        ("weight (kg)", "heavy", "The weight (kg) of Café Rosa is heavy."),
        ("founded", "27.09.2026", "The founded of Café Rosa is 27 September 2026."),
    ],
)
def test_rules_word_what_has_no_template(predicate: str, value: str, fact: str) -> None:
    facts, _ = facts_and_text([("Café_Rosa", predicate, value)], "Café Rosa.")
    assert facts == [fact]


def test_a_template_is_used_before_a_rule() -> None:
    templates = Templates.from_dict({"parking": "At <subject>, parking: <object>, 5,947."})
    assert facts_and_text([("A", "parking", "no")], "A.", templates)[0] == ["At A, parking: no, 5947."]
    sentence = Triple("", "On 2026-09-27 it rained.", "")
    assert plain.read_facts([sentence], [templates.fill(sentence)])[0].text == "On 27 September 2026 it rained."


@pytest.mark.parametrize(
    ("facts", "text", "read"),
    [
        ([("A v B", "goals", "3")], "Three goals.", "A v B: Three goals."),
        ([("A v B", "goals", "3")], "In a v b, three goals.", "In a v b, three goals."),
        ([("Match 5,947", "goals", "3")], "Three goals.", "Match 5947: Three goals."),
        ([("A", "x", "1"), ("B", "x", "1"), ("A", "y", "2")], "Text.", "A, B: Text."),
        ([(name, "x", "1") for name in "WXYZ"], "one.", "W, X, Y: one."),
    ],
)
def test_subjects_that_a_text_lacks_stand_before_it(facts: Facts, text: str, read: str) -> None:
    checks = checks_of(facts, text)
    assert facts_and_text(facts, text)[1] == read
    is_text = checks.kind == 1
    assert [checks.texts[i] for i in checks.hypothesis[is_text]] == [read]


def test_a_subject_that_no_fact_says_is_no_title() -> None:
    templates = Templates.from_dict({"goals": "There were <object> goals."})
    assert facts_and_text([("A v B", "goals", "3")], "Three goals.", templates)[1] == "Three goals."


def test_rows_have_titles_of_their_own() -> None:
    rows = from_pairs(
        [([("A", "x", "1")], "Text."), ([("B", "x", "1")], "Text."), ([("A", "x", "1")], "A text."), ([], "Text.")]
    )
    checks = build_checks(rows, Templates(), PLAIN)
    is_text = checks.kind == 1
    assert [checks.texts[i] for i in checks.hypothesis[is_text]] == ["A: Text.", "B: Text.", "A text."]


def test_a_text_of_mark_up_alone_is_blank() -> None:
    checks = checks_of([("A", "x", "1")], "<br>")
    assert checks.blank.tolist() == [True]
    assert not len(checks.row)
