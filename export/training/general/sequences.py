"""Who comes first: two of a numbered list, as data has them and as texts tell them."""

from __future__ import annotations

import random

from export.training.general.wording import sentence_case

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
    "{s} changed its {w} from {a} to {b}.",
)  # fmt: skip
"""Without a verb of what is numbered."""


def sequenced(one: str, two: str, place: str, *, agree: bool, rng: random.Random) -> tuple[str, str]:
    """Two numbered facts and a text that says which of the two comes first, on either side; or exchanged."""
    what, does, whole = rng.choice(LISTED)
    whole, ranks = whole.replace("{n}", place), rng.choice(RANKS)

    def told(a: str, b: str) -> str:
        if rng.random() < 0.35:
            said = sentence_case(rng.choice(HAD).replace("{w}", what).replace("{s}", whole))
        else:
            said = rng.choice(BEFORE).replace("{v}", does)
            said = f"At {whole}, {said}" if rng.random() < 0.6 else f"{sentence_case(said)[:-1]} at {whole}."
        return said.replace("{a}", a).replace("{b}", b)

    def listed(a: str, b: str) -> list[str]:
        facts = [f"The {rank} {what} of {whole} is {name}." for rank, name in zip(ranks, (a, b), strict=True)]
        return facts if rng.random() < 0.7 else facts[::-1]

    ends = (one, two) if agree else (two, one)
    chance = rng.random()
    if chance < 0.45:
        return " ".join(listed(one, two)), told(*ends)
    if chance < 0.6:
        return told(one, two), told(*ends)
    return told(one, two), rng.choice(listed(*ends))
