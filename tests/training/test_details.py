"""Values said in two ways, near misses of them, and who comes first: each read a second time."""

from __future__ import annotations

import random
import re

from training.general.relations import RANKS, sequenced
from training.general.values import CURRENCIES, SHARES, UNITS, counted, in_words, measured, misspelt, priced, quantified

SPELLINGS = {spelling: unit[1] for units in UNITS.values() for unit in units for spelling in unit}
NUMBERS = {in_words(n): n for n in range(1, 1100)}
LATER = (
    "{b} .* after {a}", "{b} .* later than {a}", "{b} follows {a}", "[Bb]efore {b} comes {a}", "{b} replaced {a}",
    "{b} comes after {a}", "Before it had {b} .* had {a}",
)  # fmt: skip
"""Wordings that name the later one first."""


def _quantity(value: str) -> tuple[str, str]:
    """The figure, and its unit in words."""
    found = re.fullmatch(r"([\d,]+(?: thousand| million| billion)?) (.+)", value)
    assert found
    return found[1], SPELLINGS[found[2]]


def test_a_near_miss_of_a_quantity_has_another_unit_of_its_measure() -> None:
    rng = random.Random(1)
    for _ in range(500):
        detail = measured(rng)
        figure, unit = _quantity(detail.value)
        assert _quantity(detail.same) == (figure, unit)
        other = _quantity(detail.other)
        assert other[0] == figure and other[1] != unit
        assert any({unit, other[1]} <= {words for _, words in units} for units in UNITS.values())


def test_a_near_miss_of_a_count_is_another_number_in_words_or_digits() -> None:
    rng = random.Random(2)
    for _ in range(500):
        _, _, *values = counted(rng)
        own, same, other = (int(value) if value.isdigit() else NUMBERS[value] for value in values)
        assert own == same != other


def _price(said: str) -> tuple[str, tuple[str, ...], str]:
    """Currency, figures and bound of a price."""
    (sign,) = {sign for sign, word in CURRENCIES.items() if sign in said or word in said}
    words = {"over": "more", "above": "more", "more": "more", "under": "less", "below": "less", "less": "less"}
    return sign, tuple(re.findall(r"\d+", said)), words.get(said.split(" ")[0], "")


def test_a_price_is_said_in_two_notations_and_a_near_miss_does_not_follow_from_it() -> None:
    rng = random.Random(9)
    for _ in range(2000):
        detail = priced(rng)
        own, same, other = (_price(said) for said in (detail.value, detail.same, detail.other))
        assert own == same != other
        if own[0] == other[0] and own[2] == other[2] != "":
            higher = int(other[1][0]) > int(own[1][0])
            assert higher == (own[2] == "more"), "less than 20 is less than 25, too"


def test_what_follows_from_a_share_is_no_near_miss_of_it() -> None:
    rng = random.Random(5)
    found = {(detail.value, detail.other) for detail in (quantified(rng) for _ in range(2000))}
    assert not found & {("all", "most"), ("all", "some"), ("most", "some"), *((share, share) for share in SHARES)}
    assert {("some", "all"), ("most", "all"), ("none", "all"), ("all", "none")} <= found


def test_a_misspelt_name_is_a_letter_off() -> None:
    rng = random.Random(3)
    for _ in range(500):
        wrong = misspelt("Mallow Green", rng)
        assert wrong is not None and wrong != "Mallow Green"
        assert [word[0] for word in wrong.split(" ")] == ["M", "G"]
        assert abs(len(wrong) - len("Mallow Green")) <= 1
    assert misspelt("7 B", rng) is None


def _in_order(side: str) -> list[str]:
    """The names in a text, the earlier first."""
    ranked: dict[str, str] = dict(re.findall(r"The (\w+) \w+ (?:of|at) [^.]+ is (Ann|Bo)\.", side))
    if ranked:
        rank = next(iter(ranked))
        if len(ranked) == 1:
            (other,) = {"Ann", "Bo"} - set(ranked.values())
            return [ranked[rank], other] if rank in {first for first, _ in RANKS} else [other, ranked[rank]]
        return [ranked[rank] for pair in RANKS for rank in pair if set(pair) == set(ranked)][:2]
    names = re.findall(r"\b(?:Ann|Bo)\b", side)
    later_first = any(re.search(words.format(a=names[1], b=names[0]), side) for words in LATER)
    return names[::-1] if later_first else names


def test_a_sequence_is_told_in_its_order_or_exchanged() -> None:
    rng = random.Random(4)
    for agree in (True, False) * 500:
        one, other = sequenced("Ann", "Bo", "Ostby", agree=agree, rng=rng)
        assert sorted(_in_order(one)) == sorted(_in_order(other)) == ["Ann", "Bo"]
        assert (_in_order(one) == _in_order(other)) == agree


def test_the_order_of_the_names_does_not_tell_whether_a_sequence_is_right() -> None:
    rng = random.Random(6)
    same = dict.fromkeys((True, False), 0)
    for agree in (True, False) * 1000:
        one, other = (
            re.findall(r"\bAnn\b|\bBo\b", side) for side in sequenced("Ann", "Bo", "Ostby", agree=agree, rng=rng)
        )
        same[agree] += len(one) == len(other) and one == other
    assert abs(same[True] - same[False]) < 100
