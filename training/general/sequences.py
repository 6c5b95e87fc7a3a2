"""Who comes first: two of a numbered list, as data has them and as texts tell them."""

from __future__ import annotations

import random
import re

from training.general.wording import sentence_case

RANKS = (("first", "second"), ("first", "second"), ("earlier", "later"), ("previous", "current"), ("old", "new"))
LISTED = (
    ("speaker", "speaks", "the {n} Congress"), ("reader", "reads", "the evening at {n}"),
    ("owner", "owned it", "the {n} estate"), ("runner", "runs", "the {n} relay"),
    ("director", "was in charge", "{n}"), ("judge", "sat", "the {n} trial"),
    ("tenant", "lived there", "{n} House"), ("lecturer", "lectures", "the {n} course"),
    ("chair", "held the post", "the {n} committee"), ("exhibitor", "exhibits", "the {n} fair"),
    ("guest", "arrives", "the {n} dinner"), ("skipper", "steered", "the ship {n}"),
    ("station", "is reached", "the {n} line"), ("subject", "is taught", "the {n} school"),
    ("witness", "was heard", "the {n} case"),
)  # fmt: skip
"""What is numbered, what it does, and the name of the whole."""
BEFORE = (
    "{a} {v} before {b}.", "{b} {v} after {a}.", "{a} {v} earlier than {b}.", "{b} {v} later than {a}.",
    "first {a} {v}, then {b}.", "{a} {v} and then {b}.", "{a} comes first and {b} next.", "{a} is followed by {b}.",
    "{b} follows {a}.", "after {a} comes {b}.", "before {b} comes {a}.", "it begins with {a} and goes on with {b}.",
)  # fmt: skip
HAD = (
    "{a} was the {w} of {s} before {b}.", "{b} replaced {a} as the {w} of {s}.",
    "{s} had {a} as {w} first and {b} later.", "The {w} of {s} was at first {a}, later {b}.",
    "{s} changed its {w} from {a} to {b}.", "{s} had {a} first and {b} after that.",
    "{s} began with {a} and had {b} next.", "As the {w} of {s}, {b} came later than {a}.",
    "Before it had {b} as {w}, {s} had {a}.", "{b} came to {s} after {a}.",
)  # fmt: skip
"""Without a verb of what is numbered."""


def sequenced(one: str, two: str, place: str, *, agree: bool, rng: random.Random) -> tuple[str, str]:
    """Two numbered facts and a text that says which of the two comes first, on either side; or exchanged.

    The order in which the names stand tells nothing: in half of the pairs of either kind it is the same on both sides,
    and a first one is as often named second.
    """
    same_order = rng.random() < 0.5
    while True:
        premise, hypothesis = _sides(one, two, place, rng)
        if (_first_leads(premise, one, two) == _first_leads(hypothesis, one, two)) == same_order:
            break
    if not agree:
        other = {one: two, two: one}
        hypothesis = re.sub(f"{re.escape(one)}|{re.escape(two)}", lambda name: other[name[0]], hypothesis)
    return sentence_case(premise), sentence_case(hypothesis)


def _first_leads(text: str, one: str, two: str) -> bool:
    """Whether `one` is named before `two`; of a text that names one of them, whether it is that one, and first."""
    first, second = text.find(one), text.find(two)
    if min(first, second) >= 0:
        return first < second
    numbered_first = any(f"The {rank} " in text for rank, _ in RANKS)
    return numbered_first == (first >= 0)


def _sides(one: str, two: str, place: str, rng: random.Random) -> tuple[str, str]:
    """Both sides, right."""
    what, does, whole = rng.choice(LISTED)
    whole, ranks = whole.replace("{n}", place), rng.choice(RANKS)

    def told() -> str:
        if rng.random() < 0.35:
            said = rng.choice(HAD).replace("{w}", what).replace("{s}", whole)
        else:
            said = rng.choice(BEFORE).replace("{v}", does)
            said = f"At {whole}, {said}" if rng.random() < 0.6 else f"{said[:-1]} at {whole}."
        return said.replace("{a}", one).replace("{b}", two)

    def listed() -> list[str]:
        of = rng.choice(("of", "of", "at"))
        facts = [f"The {rank} {what} {of} {whole} is {name}." for rank, name in zip(ranks, (one, two), strict=True)]
        return facts if rng.random() < 0.7 else facts[::-1]

    chance = rng.random()
    if chance < 0.45:
        return " ".join(listed()), told()
    if chance < 0.6:
        return told(), told()
    return told(), rng.choice(listed())
