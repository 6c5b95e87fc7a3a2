from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple
from scorer.templating.matching import delexicalise, tokens

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def cut(subject: str, value: str, text: str) -> str:
    """The template, or the reason for none."""
    outcome = delexicalise(Triple(subject, "p", value), text)
    assert (outcome.template is None) != (outcome.reason is None)
    return outcome.template or outcome.reason or ""


@pytest.mark.parametrize(
    ("subject", "value", "text", "expected"),
    [
        ("Alan_Bean", "Wheeler,_Texas", "Alan Bean was born in Wheeler, Texas.", "<subject> was born in <object>."),
        ("Aarhus_Air", '"Aarhus, Denmark"@en', "Aarhus Air serves Aarhus (Denmark).", "<subject> serves <object>."),
        ("Big_Hero_6_(film)", "Rock_(geology)", "Cinema: Big Hero 6 is rock.", "Cinema: <subject> is <object>."),
        ("A.S._Roma", "Air_Base", "AS Roma's airbase.", "<subject>'s <object>."),
        ("Bean", '"1923-11-18"', "Bean was born on the 18th of November 1923.", "<subject> was born on <object>."),
        ("(66391)_1999", "Moon", "(66391) 1999 orbits Moon.", "<subject> orbits <object>."),
        ("Inn", "yes", "Inn  welcomes\tchildren.", "<subject> welcomes children."),
        ("Aarhus", "Aarhus_Airport", "Aarhus Airport serves Aarhus.", "<object> serves <subject>."),
    ],
)  # fmt: skip
def test_found_however_they_are_written(subject: str, value: str, text: str, expected: str) -> None:
    assert cut(subject, value, text) == expected


@pytest.mark.parametrize(
    ("subject", "value", "text", "reason"),
    [
        ("Alan_Bean", "Texas", "Bean is from Texas.", "no_subject"),
        ("Alan_Bean", "Texas", "Alan Bean, born Alan Bean, is from Texas.", "subject_twice"),
        ("Alan_Bean", "alan bean", "Alan Bean is Alan Bean.", "same_entity"),
        ("Alan_Bean", "Texas", "Alan Bean <object> Texas.", "slot_in_text"),
        ("Monument_(İzmir)", "Turkey", "The Monument is in İzmir, Turkey.", "name_left"),
        ("Team", "US", "Team lets us play.", "no_object"),
        ("Aarhus", "Aarhus_Airport", "Aarhus Airport.", "no_subject"),
    ],
)
def test_rejected_with_the_reason(subject: str, value: str, text: str, reason: str) -> None:
    assert cut(subject, value, text) == reason


NAMES = ("Blue", "Spice", "Mill", "Crown", "Hotel", "Étoile", "Łódź", "Straße", "1984", "12.5")
WORDS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)
LITERALS = st.sampled_from([" is near ", " serves ", ", by the way, likes ", "'s neighbour is "])


@UNTIMED
@given(WORDS, WORDS, LITERALS)
def test_a_filled_template_gives_the_template_back(subject: list[str], value: list[str], literal: str) -> None:
    """The scorer's own filling is found again; only then do templates mean what they say."""
    assume(not set(subject) & set(value))
    triple = Triple("_".join(subject), "p", "_".join(value))
    template = f"<subject>{literal}<object>."
    filled = Templates.from_dict({"p": template}).fill(triple).text
    assert delexicalise(triple, filled).template == template


@UNTIMED
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=120))
def test_any_text_gives_a_template_with_both_slots_or_a_reason(subject: str, value: str, text: str) -> None:
    assume(subject.strip() and value.strip())
    outcome = delexicalise(Triple(subject, "p", value), text)
    if outcome.template is not None:
        assert outcome.template.count("<subject>") == 1
        assert outcome.template.count("<object>") <= 1
        assert not Templates.from_dict({"p": outcome.template}).fill(Triple("s", "p", "o")).backoff
    else:
        assert outcome.reason


def keys(text: str) -> list[str]:
    return [token.key for token in tokens(text)]


@pytest.mark.parametrize(
    "spellings",
    [
        ("Köln", "KÖLN", "koln", "Ko\u0308ln"),
        ("1982.0", "1,982", "1982", "1982.00"),
        ("50000", "50,000", "50000.0"),
        ("-12", "-12.0"),
        ("٣٤", "34"),
    ],
)
def test_spellings_that_agree(spellings: tuple[str, ...]) -> None:
    assert len({tuple(keys(spelling)) for spelling in spellings}) == 1, [keys(s) for s in spellings]


@pytest.mark.parametrize(
    "text",
    [
        "1923-11-18", "November 18,1923", "Nov. 18th 1923", "the 18th of November 1923", "november the 18th 1923",
    ],
)  # fmt: skip
def test_spellings_of_a_date(text: str) -> None:
    assert keys(text) == ["@1923-11-18"]
    (token,) = tokens(f"Born {text}.")[1:]
    assert (token.start, token.end) == (5, 5 + len(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/4/1999", ["#3", "#4", "#1999"]),  # two dates: not guessed
        ("0-7653-0633-6", ["#0", "#7653", "#0633", "#6"]),  # leading zeros are part of a name
        ("17R/35L", ["#17", "r", "#35", "l"]),
        ("A.S. Roma's 4.8g, ¿?!", ["a", "s", "roma", "s", "#4.8", "g"]),
    ],
)
def test_what_stays_apart(text: str, expected: list[str]) -> None:
    assert keys(text) == expected
