"""A slot matcher for the E2E data: which slots of the meaning representation a text expresses, and which wrongly.

As in the E2E challenge, a slot with another value is both an omission and a hallucination; a repetition changes only
the slot error rate. The patterns were written for this project, from the slot definitions of the data, its public texts
and common English. A wording counts if the gold of the data counts it, which is strict: *mid-priced* is not *moderate*,
*low-cost* not *cheap*, *£20-£25* not *£20-25*. They are applied to normalised text: lower case, no accents, single
blanks, ``£`` directly before its number, ``3 out of 5`` and its variants as ``3stars``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scorer.metric.facts import Triple

_RATING = r"(?:ratings?|rated|rates?|reviews?|reviewed|scores?|scored|feedback|satisfaction|ranked|ranks|rankings?)"
_PEOPLE = r"(?:customers?|consumers?|guests?|users?|patrons?|public|people|visitors?|diners?)(?:'s?)?"
_LINK = rf"(?:is|are|was|it|its|has|have|had|been|by|from|as|of|at|an?|the|that|which|received|gets|got|{_PEOPLE})"
_PRICE = r"(?:prices?|priced|pricing|price[ -]ranges?)"
_KIDS = r"(?:kids?|child(?:ren)?s?|child's|children's|kid's|famil(?:y|ies))"
_FRIENDLY = r"(?:friendly|oriented|orientated|welcoming|friendliness)"

ALSO = {
    "less than £20": "cheap", "£20-25": "moderate", "more than £30": "high",
    "1 out of 5": "low", "3 out of 5": "average", "5 out of 5": "high",
}  # fmt: skip
"""Values that may also be expressed by the words of another value, which is more general."""

WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("e2e_words.json").read_text(encoding="utf-8"))
"""``names`` of restaurants and of ``places`` near them; ``other_slot_names``; ``synonyms`` by slot and value."""


def _rating(stars: str, words: str) -> list[str]:
    return [
        rf"\b{stars}stars\b",
        rf"\b{words}[ -](?:(?:{_PEOPLE}|quality|star|overall|satisfaction|and|approval)[ -]){{0,3}}{_RATING}\b",
        rf"\b{_RATING} (?:{_LINK} )*(?:very |quite |only |rather |generally |just )?{words}\b(?![ -](?:{_PRICE}|food))",
        rf"\b{_PEOPLE} (?:have |has )?(?:rated?|rates) (?:[\w#]+ ){{1,2}}(?:as )?{words}\b(?! {_PRICE})",
    ]


def _price(words: str) -> list[str]:
    return [
        rf"\b{words}[ -]{_PRICE}\b",
        rf"\b{_PRICE} (?:(?:range|ranges|is|are|it|being|of|in|the|an?|from|that|which|tend to be|on) )*"
        rf"(?:very |quite |fairly |rather |pretty |relatively )?{words}\b(?![ -](?:{_PEOPLE} )?{_RATING})",
    ]


SLOTS: dict[str, dict[str, list[str]]] = {
    "eatType": {
        "pub": [r"\bpubs?\b"],
        "coffee shop": [r"\bcoffee[ -]?(?:shops?|houses?|bars?|places?|stores?)\b"],
        "restaurant": [r"\brestaurants?\b"],
    },
    "food": {
        "Chinese": [r"\bchinese\b"],
        "English": [r"\benglish\b", r"\bbritish\b"],
        "Fast food": [r"\bfast[ -]?foods?\b"],
        "French": [r"\bfrench\b"],
        "Indian": [r"\bindian\b"],
        "Italian": [r"\bitalian\b"],
        "Japanese": [r"\bjapanese\b"],
    },
    "priceRange": {
        "cheap": [
            r"\bcheap(?:er|est|ly)?\b",
            r"\binexpensive\b",
            r"\baffordabl[ey]\b",
            *_price("(?:low|lower|lowest)"),
        ],
        "moderate": [r"\bmoderately[ -](?:\w+[ -])?priced?\b", *_price("(?:moderate|moderately|average)")],
        "high": [*_price("high"), r"(?<!not )(?<!n't )(?<!less )(?<!moderately )\bexpensive\b"],
        "less than £20": [
            r"\b(?:less|lower|cheaper) than £?20\b",
            r"\b(?:under|below|up to|around) £20\b",
            r"£20 or less\b",
        ],
        "£20-25": [r"£20 ?(?:-|to|and|through) ?25\b", r"(?<![\d£])20-25\b"],
        "more than £30": [
            r"\b(?:more|higher|greater|over) than £?30\b",
            r"\b(?:over|above|from) £?30\b",
            r"£30 or more\b",
        ],
    },
    "customer rating": {
        "low": [*_rating("1", "(?:low|lowest|poor|poorly|bad|badly)")],
        "average": [*_rating("3", "(?:average|averagely|moderate|decent|mediocre)")],
        "high": [*_rating("5", "(?:high|highest|highly|excellent|great|good|top|best|well|outstanding)")],
    },
    "area": {
        "city centre": [r"\b(?:city|town)[ -]?cent(?:re|er)\b", r"\bcent(?:re|er) of (?:the |our )?(?:city|town)\b"],
        "riverside": [
            r"\briver[ -]?side\b",
            r"\b(?:by|near|on|along|beside|next to|off|at|close to|overlooking|alongside)(?: the| a)? river\b",
            r"\briver ?(?:front|banks?)\b",
            r"\bbanks? of the river\b",
        ],
    },
}

_NOT = r"(?:not?|isn't|isnt|aren't|doesn't|don't|never|nor|neither|cannot|can't|nt)"
_BETWEEN = r"(?:an?|the|be|any|for|to|with|very|so|really|particularly|too|considered|deemed|recommended|suitable|"
_BETWEEN += r"friendly|good|appropriate|ideal|open|welcome|welcoming|meant|place)"
FAMILY_NO = [
    rf"\b{_NOT}(?: {_BETWEEN})*[ -]{_KIDS}(?:[ -](?:(?:and|or) {_KIDS}[ -])?{_FRIENDLY})?\b",
    rf"\b(?:non|un)[ -]?{_KIDS}[ -]?{_FRIENDLY}\b",
    rf"\b{_KIDS}[ -]?(?:un|non-?)(?:{_FRIENDLY}|suitable)\b",
    rf"\b{_KIDS}(?: are| is)? {_NOT}(?: \w+)?? (?:{_FRIENDLY}|welcomed?|allowed|permitted|recommended|suitable)\b",
    r"\badults?[ -]?only\b",
    rf"\bunsuitable for {_KIDS}\b",
]
FAMILY_YES = [
    rf"\b{_KIDS}[ -]{{0,3}}(?:and [\w-]+ )?{_FRIENDLY}\b",
    rf"\b(?:friendly|suitable|good|great|perfect|appropriate|ideal|fit|fun|welcoming|open) "
    rf"(?:for|to|with|towards) (?:the |your |all |whole |entire |any |both )*{_KIDS}\b",
    rf"\bfor {_KIDS}\b",
    rf"\b{_KIDS} (?:are |is )?(?:always |also |very )?(?:welcomed?|allowed)\b",
    r"(?<!not )(?<!n't )\b(?:welcom(?:es?|ing)|allows?|accommodat(?:es?|ing)|caters? (?:to|for)) "
    rf"(?:all |the |your |of )*{_KIDS}\b",
]


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns))


def _names(names: Sequence[str]) -> re.Pattern[str]:
    return _any_of([rf"\b{re.escape(name)}\b" for name in sorted(names, key=len, reverse=True)])


_VALUES = {slot: {value: _any_of(found) for value, found in values.items()} for slot, values in SLOTS.items()}
_NO, _YES = _any_of(FAMILY_NO), _any_of(FAMILY_YES)
_NAMES, _PLACES = _names(WORDS["names"]), _names(WORDS["places"])
_TIDY = (
    (re.compile(r"[‘’`´]"), "'"),
    (re.compile(r"[‐-―−]"), "-"),
    (re.compile(r"\s+"), " "),
    (re.compile(r" (?='(?:s|re|ve|ll|d)\b)| (?=n't\b)"), ""),
    (re.compile(r" ?- ?"), "-"),
    (re.compile(r"£ "), "£"),
    (re.compile(r"(?:\bgbp ?|\bpounds? )(?=\d)"), "£"),
    (re.compile(r"£?(\d+) ?(?:pounds?(?: sterling)?|gbp|euros?|£)"), r"£\1"),
    (re.compile(r"\bone\b(?= (?:out|of|star)|-star)"), "1"),
    (re.compile(r"\bthree\b(?= (?:out|of|star)|-star)"), "3"),
    (re.compile(r"\bfive\b(?= (?:out|of|star)|-star)"), "5"),
    (re.compile(r"\b([135]) ?(?:out of|/|of|on|-out-of-|in) ?(?:5|five)\b(?:[ -]stars?\b)?"), r"\1stars"),
    (re.compile(r"\b([135])[ -]stars?\b"), r"\1stars"),
)


@dataclass(frozen=True)
class SlotErrors:
    """The slot errors of a text. ``missing``, ``wrong``: positions of triples that are absent, or present with another
    value. ``added``: slots in the text that the input does not have, once per value. ``repeated``: number of further
    mentions of values."""

    missing: list[int] = field(default_factory=list)
    wrong: list[int] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    name: str = "said"
    repeated: int = 0
    slots: int = 1

    @property
    def rate(self) -> float:
        """Slot error rate: number of errors divided by the number of slots, the name included."""
        named = self.name != "said"
        return (len(self.missing) + len(self.wrong) + len(self.added) + named + self.repeated) / self.slots

    @property
    def omission(self) -> bool:
        return bool(self.missing or self.wrong or self.name != "said")

    @property
    def hallucination(self) -> bool:
        return bool(self.added or self.wrong or self.name == "wrong")


def normalise(text: str) -> str:
    text = unicodedata.normalize("NFKD", text.replace("£", "\x00"))
    text = "".join(c for c in text if not unicodedata.combining(c)).replace("\x00", "£").lower()
    for pattern, replacement in _TIDY:
        text = pattern.sub(replacement, text)
    return text.strip()


def _mentions(text: str) -> dict[str, dict[str, int]]:
    """Slot → value → number of mentions in a normalised text whose names are masked."""
    found = {slot: {v: len(pattern.findall(text)) for v, pattern in values.items()} for slot, values in _VALUES.items()}
    without, denied = _NO.subn(" ; ", text)
    found["familyFriendly"] = {"no": denied, "yes": len(_YES.findall(without))}
    there = {slot: {value: n for value, n in values.items() if n} for slot, values in found.items()}
    return {slot: values for slot, values in there.items() if values}


def judge(triples: Sequence[Triple], text: str) -> SlotErrors:
    """Compare a text with its slots; the subject of the triples is the name."""
    text = normalise(text)
    name = normalise(triples[0].subject) if triples else ""
    near = {normalise(t.object) for t in triples if t.predicate == "near"}
    masked, said = _mask(text, name, near)
    found = _mentions(masked)
    missing = [i for i, t in enumerate(triples) if t.predicate == "near" and normalise(t.object) not in said]
    wrong: list[int] = []
    added: list[str] = []
    repeated = 0
    others_than_near = [(i, triple) for i, triple in enumerate(triples) if triple.predicate != "near"]
    for slot in dict.fromkeys([*SLOTS, *found, *(triple.predicate for _, triple in others_than_near)]):
        values = dict(found.get(slot, {}))
        repeated += sum(count - 1 for count in values.values())
        given = [(i, triple.object) for i, triple in others_than_near if triple.predicate == slot]
        absent = [i for i, value in given if not _take(values, value)]
        others = list(values)
        if absent and others:
            wrong += absent
            others = others[len(absent) :]
        else:
            missing += absent
        added += [slot] * len(others)
    others_named = set(_NAMES.findall(masked))
    state = "said" if name in said or not name else "wrong" if others_named else "missing"
    if state == "said":
        added += ["name"] * len(others_named)
    return SlotErrors(sorted(missing), sorted(wrong), added, state, repeated, len(triples) + 1)


def _take(values: dict[str, int], value: str) -> bool:
    """Whether a value is mentioned, by its own words or by accepted ones; removes these mentions from ``values``."""
    return sum(values.pop(name, 0) for name in (value, ALSO.get(value, value))) > 0


def _mask(text: str, name: str, near: set[str]) -> tuple[str, set[str]]:
    """Mask the expected names and the names of known places in a text; also returns the expected names found."""
    said = set()
    for own in sorted({name, *near} - {""}, key=len, reverse=True):
        masked = re.sub(rf"(?<!\w){re.escape(own)}(?!\w)", " # ", text)
        if masked != text:
            said.add(own)
        text = masked
    return _PLACES.sub(" # ", text), said
