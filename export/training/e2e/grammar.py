"""Synthetic texts: a small sentence grammar with many wordings of each value, to cover more than E2E's systems."""

from __future__ import annotations

import random

from export.training.e2e.facts import FACT_SLOTS, some_name, some_value

Says = dict[str, frozenset[str]]

# slot -> value -> what may stand before the noun; the next two tables: after it, and as a clause of its own.
# A figure may be said in words (`less than £20`: cheap), never the reverse, as the slot script has it.
_ADJECTIVE: dict[str, dict[str, tuple[str, ...]]] = {
    "priceRange": {
        "high": ("expensive", "high-priced", "high priced"),
        "more than £30": ("high-priced", "high priced", "expensive"),
        "moderate": ("moderately priced", "moderate-priced", "moderately-priced"),
        "£20-25": ("moderately priced",),
        "cheap": ("cheap", "low-priced", "low priced", "inexpensive"),
        "less than £20": ("cheap", "low-priced", "low priced"),
    },
    "customer rating": {
        "high": ("highly rated", "high rated", "highly-rated", "top rated"),
        "5 out of 5": ("5 star", "5-star", "five star", "5 out of 5 rated"),
        "average": ("average rated", "averagely rated", "average-rated"),
        "3 out of 5": ("3 star", "3-star", "three star", "3 out of 5 rated"),
        "low": ("low rated", "low-rated", "poorly rated"),
        "1 out of 5": ("1 star", "1-star", "one star", "1 out of 5 rated"),
    },
    "familyFriendly": {
        "yes": ("family friendly", "family-friendly", "kid friendly", "kid-friendly", "child friendly",
                "child-friendly", "children friendly", "kids friendly", "kids-friendly"),
        "no": ("non family-friendly", "non-family-friendly", "adult only", "adults only", "non kid friendly",
               "non children friendly", "not family-friendly", "non child-friendly"),
    },
}  # fmt: skip

_AFTER: dict[str, dict[str, tuple[str, ...]]] = {
    "priceRange": {
        "high": ("with a high price range", "in the high price range", "with high prices", "that is expensive"),
        "more than £30": ("with a price range of more than £30", "with prices over £30",
                          "where meals cost more than £30", "in the more than £30 price range", "priced above £30",
                          "in the high price range", "with a high price range"),
        "moderate": ("with a moderate price range", "in the moderate price range", "with moderate prices",
                     "with average prices"),
        "£20-25": ("with a price range of £20-25", "in the £20-25 price range", "where meals cost £20-25",
                   "with prices from £20 to £25", "priced between £20 and £25"),
        "cheap": ("with a cheap price range", "in the low price range", "with a low price range",
                  "in the cheap price range", "with low prices", "with cheap prices"),
        "less than £20": ("with a price range of less than £20", "with prices under £20", "for less than £20",
                          "in the less than £20 price range", "where a meal is under £20", "in the low price range",
                          "in the cheap price range"),
    },
    "customer rating": {
        "high": ("with a high customer rating", "with high ratings"),
        "5 out of 5": ("with a customer rating of 5 out of 5", "with a 5 out of 5 rating", "rated 5 out of 5",
                       "with five stars", "with a rating of 5 of 5"),
        "average": ("with an average customer rating", "with average ratings", "rated average by customers"),
        "3 out of 5": ("with a customer rating of 3 out of 5", "with a 3 out of 5 rating", "rated 3 out of 5",
                       "with three stars"),
        "low": ("with a low customer rating", "with low ratings", "rated low by customers", "with a poor rating"),
        "1 out of 5": ("with a customer rating of 1 out of 5", "with a 1 out of 5 rating", "rated 1 out of 5",
                       "with one star"),
    },
    "area": {
        "riverside": ("in the riverside area", "by the river", "in riverside", "near the river", "on the riverside",
                      "located by the riverside", "at the riverside", "along the river"),
        "city centre": ("in the city centre", "in the city center", "in the centre of the city",
                        "located in the city centre area", "in the town centre", "in the heart of the city centre"),
    },
    "familyFriendly": {
        "yes": ("that is family friendly", "that welcomes families", "where children are welcome", "for families",
                "that is kid friendly", "good for families with children"),
        "no": ("that is not family-friendly", "that does not welcome children", "not for children",
               "that is not kid friendly", "which is not suitable for families", "where no kids are allowed"),
    },
}  # fmt: skip

_CLAUSE: dict[str, dict[str, tuple[str, ...]]] = {
    "priceRange": {
        "high": ("has a high price range", "is expensive", "has high prices", "is in the high price range"),
        "more than £30": ("has a price range of more than £30", "costs more than £30", "has prices of over £30"),
        "moderate": ("has a moderate price range", "is moderately priced", "has moderate prices"),
        "£20-25": ("has a price range of £20-25", "costs between £20 and £25", "has prices from £20 to 25"),
        "cheap": ("is cheap", "has a cheap price range", "has low prices", "is in the cheap price range"),
        "less than £20": ("has a price range of less than £20", "costs less than £20", "has prices below £20"),
    },
    "customer rating": {
        "high": ("has a high customer rating", "is highly rated", "gets high ratings"),
        "5 out of 5": ("has a customer rating of 5 out of 5", "is rated 5 out of 5", "has a rating of five out of five",
                       "has 5 stars", "received 5 out of 5 from customers"),
        "average": ("has an average customer rating", "is rated average", "has an average rating"),
        "3 out of 5": ("has a customer rating of 3 out of 5", "is rated 3 out of 5",
                       "has a rating of three out of five", "got 3 out of 5 stars"),
        "low": ("has a low customer rating", "is rated low", "has a low rating", "is poorly rated"),
        "1 out of 5": ("has a customer rating of 1 out of 5", "is rated 1 out of 5", "has a rating of one out of five",
                       "only has 1 star"),
    },
    "area": {
        "riverside": ("is in the riverside area", "is located by the river", "can be found in riverside",
                      "is situated near the river", "is on the riverside"),
        "city centre": ("is in the city centre", "is located in the city center",
                        "can be found in the city centre area", "is situated in the centre of the city"),
    },
    "familyFriendly": {
        "yes": ("is family friendly", "is kid friendly", "is child-friendly", "welcomes families", "is good for kids",
                "allows children", "is family-friendly", "is children friendly", "is a family place"),
        "no": ("is not family friendly", "is not kid friendly", "is not child-friendly", "does not welcome families",
               "is for adults only", "does not allow children", "is not family-friendly", "isn't family friendly",
               "is not suitable for kids", "is not children friendly"),
    },
}  # fmt: skip

_FOOD_AFTER = (
    "serving {food}",
    "that serves {food}",
    "offering {food}",
    "providing {food}",
    "which sells {food}",
    "with {food}",
)
_FOOD_CLAUSE = ("serves {food}", "offers {food}", "provides {food}", "has {food} on the menu", "sells {food}")
_NEAR_AFTER = (
    "near {near}",
    "close to {near}",
    "located near {near}",
    "next to {near}",
    "not far from {near}",
    "by {near}",
)
_NEAR_CLAUSE = (
    "is near {near}",
    "is located near {near}",
    "is close to {near}",
    "can be found near {near}",
    "is next to {near}",
)
_NOUNS = {
    "pub": ("pub",),
    "restaurant": ("restaurant",),
    "coffee shop": ("coffee shop", "coffee shop", "coffee-shop"),
}
_NO_NOUN = ("place", "venue", "establishment", "place", "eatery", "place to eat")


def _food(value: str, rng: random.Random) -> str:
    if value == "Fast food":
        return "fast food"
    return f"{value} {rng.choice(('food', 'food', 'cuisine', 'dishes', 'meals'))}"


def _phrase(slot: str, value: str, table: dict[str, dict[str, tuple[str, ...]]], rng: random.Random) -> str:
    after = table is _AFTER
    if slot == "food":
        return rng.choice(_FOOD_AFTER if after else _FOOD_CLAUSE).format(food=_food(value, rng))
    if slot == "near":
        return rng.choice(_NEAR_AFTER if after else _NEAR_CLAUSE).format(near=value)
    return rng.choice(table[slot][value])


def _noun_phrase(name: str, before: dict[str, str], after: dict[str, str], kind: str | None, rng: random.Random) -> str:
    """The opening sentence: name, noun, adjectives, and what follows the noun."""
    adjectives = [rng.choice(_ADJECTIVE[slot][value]) for slot, value in before.items() if slot != "food"]
    rng.shuffle(adjectives)
    if "food" in before:
        adjectives.append(before["food"])
    noun = rng.choice(_NOUNS[kind] if kind else _NO_NOUN)
    tail = [_phrase(slot, value, _AFTER, rng) for slot, value in after.items()]
    rng.shuffle(tail)
    head = " ".join([*adjectives, noun])
    article = "an" if head[0] in "aeiou" else "a"
    rest = (" and " if rng.random() < 0.2 else " ").join(tail)
    opening = rng.random()
    if opening < 0.7:
        return f"{name} is {article} {head} {rest}".strip()
    if opening < 0.85:
        return f"There is {article} {head} called {name} {rest}".strip()
    return f"{rest[:1].upper()}{rest[1:]}, {name} is {article} {head}" if rest else f"{name} is {article} {head}"


def synthetic_text(rng: random.Random) -> tuple[str, Says]:
    """A text and the values that it expresses.

    One text in fifteen names a second kind of venue or contradicts itself on families, as real systems do.
    """
    name = some_name(rng)
    count = rng.choice((2, 3, 4, 4, 5, 5, 6, 6, 7))
    slots = rng.sample(FACT_SLOTS, count)
    values = {slot: some_value(slot, rng, (name,)) for slot in slots}
    says: Says = {"name": frozenset((name,)), **{slot: frozenset((value,)) for slot, value in values.items()}}
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    clauses: list[tuple[str, str]] = []
    for slot, value in values.items():
        if slot == "eatType":
            continue
        adjective_ok = (slot == "food" and value != "Fast food") or bool(_ADJECTIVE.get(slot, {}).get(value))
        place = rng.random()
        if adjective_ok and place < 0.35 and len(before) < 3:
            before[slot] = value
        elif place < 0.65 and len(after) < 3:
            after[slot] = value
        else:
            clauses.append((slot, value))
    kind = values.get("eatType")
    sentences = [_noun_phrase(name, before, after, kind, rng)]
    rng.shuffle(clauses)
    subjects = ["It", "It", "This place", name]
    quirk = rng.random()
    if kind and quirk < 0.04:
        other = some_value("eatType", rng, (kind,))
        says["eatType"] = frozenset((kind, other))
        subjects = [f"The {other}", f"This {other}"]
        if not clauses:
            sentences[0] += f" {other}"
    elif kind and quirk < 0.3:
        subjects.append(f"The {kind}")
    elif "familyFriendly" in values and quirk > 0.985:
        other = some_value("familyFriendly", rng, (values["familyFriendly"],))
        clauses.append(("familyFriendly", other))
        says["familyFriendly"] = frozenset(("yes", "no"))
    while clauses:
        taken = [clauses.pop() for _ in range(min(len(clauses), rng.choice((1, 1, 2, 2, 3))))]
        body = [_phrase(slot, value, _CLAUSE, rng) for slot, value in taken]
        joined = body[0] if len(body) == 1 else ", ".join(body[:-1]) + " and " + body[-1]
        sentences.append(f"{rng.choice(subjects)} {joined}")
    stop = " . " if rng.random() < 0.3 else ". "
    return stop.join(sentences) + stop.rstrip(), says
