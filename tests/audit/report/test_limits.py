"""Caps and cuts."""

from __future__ import annotations

from itertools import pairwise

from scorer.audit.report.environment import environment
from scorer.audit.report.limits import Limits, clip, clip_plain, steps
from tests.audit.report.parsing import parse


def test_a_cut_text_says_how_much_is_missing() -> None:
    data = environment().get_template("values.html.jinja").make_module({"limits": Limits()}).data  # type: ignore[attr-defined]
    assert data("abc", 3) == '<bdi class="data">abc</bdi>'
    assert parse(data("abcdef", 4)).text == "abcd … 2 more characters"
    assert clip("abcdef", 4) == ("abcd", 2)
    assert clip_plain("abcdef", 4) == "abcd…"
    assert clip_plain("abcd", 4) == "abcd"


def test_every_step_shows_less_and_the_last_next_to_nothing() -> None:
    found = steps()
    assert found[0] == Limits()
    for before, after in pairwise(found):
        assert all(getattr(after, name) <= value for name, value in vars(before).items())
    assert set(vars(found[-1]).values()) == {2}
