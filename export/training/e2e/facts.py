"""Slots, their values, and the wordings of a fact that embedded-e2e learns to read."""

from __future__ import annotations

import json
import random
from pathlib import Path

TEMPLATES = Path(__file__).with_name("templates.json")

SLOTS = ("name", "eatType", "food", "priceRange", "customer rating", "area", "familyFriendly", "near")
FACT_SLOTS = SLOTS[1:]

# Values in groups: the slot script accepts members of a group for one another only in some cases ("cheap" in a text
# satisfies `less than £20`, but not the reverse), so a member of the same group is never sampled as a wrong value, nor
# as a right one.
GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "eatType": (("pub",), ("restaurant",), ("coffee shop",)),
    "food": (
        ("Italian",),
        ("English",),
        ("Indian",),
        ("Fast food",),
        ("Japanese",),
        ("Chinese",),
        ("French",),
    ),
    "priceRange": (("high", "more than £30"), ("moderate", "£20-25"), ("cheap", "less than £20")),
    "customer rating": (("high", "5 out of 5"), ("average", "3 out of 5"), ("low", "1 out of 5")),
    "area": (("riverside",), ("city centre",)),
    "familyFriendly": (("yes",), ("no",)),
}

NAMES = (
    "The Vaults", "The Cricketers", "The Punter", "The Phoenix", "The Mill", "The Wrestlers", "The Waterman",
    "Giraffe", "Blue Spice", "Wildwood", "Green Man", "Cocum", "The Plough", "Zizzi", "Clowns", "Loch Fyne",
    "Strada", "Cotto", "The Eagle", "The Golden Curry", "Fitzbillies", "Aromi", "Alimentum", "Bibimbap House",
)  # fmt: skip
PLACES = (
    "Raja Indian Cuisine", "Rainbow Vegetarian Café", "All Bar One", "Crowne Plaza Hotel",
    "Express by Holiday Inn", "Café Sicilia", "Café Rouge", "Burger King", "The Sorrento", "The Rice Boat",
    "The Bakers", "Avalon", "Ranch", "The Portland Arms", "Yippee Noodle Bar", "Clare Hall",
)  # fmt: skip

_HEADS = (
    "Anchor", "Badger", "Barrel", "Bell", "Bridge", "Candle", "Castle", "Cedar", "Chimney", "Copper", "Crown",
    "Dolphin", "Ember", "Falcon", "Fern", "Fox", "Garden", "Hare", "Harbour", "Hazel", "Heron", "Ivy", "Kettle",
    "Lantern", "Lemon", "Lion", "Maple", "Meadow", "Moon", "Oak", "Olive", "Orchard", "Otter", "Pepper", "Pilot",
    "Quill", "Raven", "River", "Rose", "Saffron", "Spoon", "Star", "Swan", "Tower", "Tulip", "Walnut", "Willow",
)  # fmt: skip
_ADJECTIVES = (
    "Amber", "Black", "Blue", "Bright", "Crooked", "Dusty", "Golden", "Green", "Happy", "Hidden", "Jolly", "Little",
    "Lucky", "Old", "Quiet", "Red", "Royal", "Rusty", "Silver", "Two", "Velvet", "White", "Wild", "Young",
)  # fmt: skip
_SYLLABLES = ("ba", "ce", "chi", "da", "fo", "gra", "ka", "la", "lo", "mar", "me", "ni", "or", "pa", "ri", "sa",
              "sto", "ta", "to", "va", "vi", "zo", "zu", "ster", "wick", "den", "ton", "ley")  # fmt: skip
_KINDS = (
    "Hotel",
    "Café",
    "Bar",
    "Inn",
    "Cuisine",
    "Kitchen",
    "House",
    "Arms",
    "Grill",
    "Hall",
    "Market",
    "Theatre",
)

# The first wording of a slot is the one in templates.json; the others teach that the wording does not matter.
_OTHERS: dict[str, tuple[str, ...]] = {
    "eatType": (
        "<subject> is a <object>.", "There is a <object> called <subject>.", "<subject> is a sort of <object>.",
    ),
    "food": (
        "<subject> serves <object>.", "<subject> offers <object> food.", "You can eat <object> food at <subject>.",
    ),
    "priceRange": (
        "<subject> has a <object> price range.", "The price range at <subject> is <object>.",
        "<subject> is priced <object>.", "<subject> is in the <object> price range.",
    ),
    "customer rating": (
        "<subject> has a <object> customer rating.", "<subject> is rated <object> by its customers.",
        "The rating of <subject> is <object>.", "<subject> has <object> rating.",
    ),
    "area": (
        "<subject> is in the <object>.", "You find <subject> in the area of <object>.",
        "<subject> lies in the <object>.",
    ),
    "near": ("<subject> is near <object>.", "<subject> lies near <object>.", "Near <object> you find <subject>."),
}  # fmt: skip
_OTHERS_FAMILY: dict[str, tuple[str, ...]] = {
    "yes": ("<subject> is family friendly.", "<subject> is family-friendly.", "Children are welcome at <subject>."),
    "no": (
        "<subject> is not family friendly.", "<subject> is not family-friendly.",
        "Children are not welcome at <subject>.",
    ),
}  # fmt: skip
_BACKOFF_NAMES = {"eatType": "eat Type", "priceRange": "price Range", "familyFriendly": "family Friendly"}


def group_of(slot: str, value: str) -> tuple[str, ...]:
    """The values that the gold script may accept for `value`, including itself."""
    for group in GROUPS.get(slot, ()):
        if value in group:
            return group
    return (value,)


def invented_name(rng: random.Random) -> str:
    """An invented name of a venue: the model must learn to compare names, not memorise the eighteen of the data."""
    kind = rng.random()
    if kind < 0.35:
        return f"The {rng.choice(_HEADS)}"
    if kind < 0.55:
        return f"{rng.choice(_ADJECTIVES)} {rng.choice(_HEADS)}"
    if kind < 0.65:
        return f"The {rng.choice(_ADJECTIVES)} {rng.choice(_HEADS)}"
    if kind < 0.72:
        return f"The {rng.choice(_HEADS)} and {rng.choice(_HEADS)}"
    word = "".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((2, 2, 3)))).capitalize()
    return word if kind < 0.9 else f"The {word}"


def invented_place(rng: random.Random) -> str:
    """An invented neighbour for `near`."""
    if rng.random() < 0.3:
        return invented_name(rng)
    kind = rng.choice(_KINDS)
    word = rng.choice((*_HEADS, *_ADJECTIVES, "".join(rng.choice(_SYLLABLES) for _ in range(2)).capitalize()))
    if kind == "Café" and rng.random() < 0.5:
        return f"Café {word}"
    return f"{word} {kind}" if rng.random() < 0.7 else f"{word} {rng.choice(_HEADS)} {kind}"


def some_name(rng: random.Random) -> str:
    """A venue's name: one of E2E's in half of the draws."""
    return rng.choice(NAMES) if rng.random() < 0.5 else invented_name(rng)


def some_place(rng: random.Random) -> str:
    """A neighbour's name: one of E2E's in half of the draws."""
    return rng.choice(PLACES) if rng.random() < 0.5 else invented_place(rng)


def some_value(slot: str, rng: random.Random, avoid: tuple[str, ...] = ()) -> str:
    """A value of `slot` outside the groups of the values in `avoid` (any, where these leave none)."""
    if slot in ("near", "name"):
        draw = some_place if slot == "near" else some_name
        taken = {value.lower() for value in avoid}
        while (value := draw(rng)).lower() in taken:
            pass
        return value
    shunned = {mate for value in avoid for mate in group_of(slot, value)}
    values = [value for group in GROUPS[slot] for value in group]
    return rng.choice([value for value in values if value not in shunned] or values)


class Wordings:
    """Facts as sentences: the shipped templates most of the time, else backoff or a paraphrase."""

    def __init__(self) -> None:
        self.templates = json.loads(TEMPLATES.read_text(encoding="utf-8"))

    def shipped(self, slot: str, value: str) -> str:
        """The pattern of templates.json for this slot and value."""
        entry = self.templates[slot]
        return str(entry[value] if isinstance(entry, dict) else entry)

    def patterns(self, slots: list[tuple[str, str]], rng: random.Random) -> list[str]:
        """One pattern per (slot, value), of one kind for the whole pair, so that the kind does not reveal the label."""
        manner = rng.random()
        if manner < 0.6:
            found = [self.shipped(slot, value) for slot, value in slots]
        elif manner < 0.75:
            found = [f"The {_BACKOFF_NAMES.get(slot, slot)} of <subject> is <object>." for slot, _ in slots]
        else:
            found = [
                rng.choice(_OTHERS_FAMILY[value] if slot == "familyFriendly" else _OTHERS[slot])
                for slot, value in slots
            ]
        return [pattern[:-1] + " ." for pattern in found] if manner >= 0.6 and rng.random() < 0.4 else found

    def fill(self, name: str, slots: list[tuple[str, str]], rng: random.Random) -> list[str]:
        """The facts as sentences, in the order given."""
        return [
            pattern.replace("<subject>", name).replace("<object>", value)
            for pattern, (_, value) in zip(self.patterns(slots, rng), slots, strict=True)
        ]
