"""A slot matcher for the E2E data: which slots of the meaning representation a text expresses, and which wrongly.

The labels follow the E2E challenge: a slot expressed with another value is a value error, which is both an omission
and a hallucination; a repetition does not change the label, only the slot error rate.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.paper.rivals import e2e_patterns as patterns
from scorer.metric.facts import Triple

_VALUES: dict[str, dict[str, re.Pattern[str]]] = {
    slot: {value: patterns.compiled(found) for value, found in values.items() if found}
    for slot, values in patterns.SLOTS.items()
}
_FAMILY_NO, _FAMILY_YES = patterns.compiled(patterns.FAMILY_NO), patterns.compiled(patterns.FAMILY_YES)
_MISREADINGS = {where: re.compile(pattern) for where, pattern in patterns.GOLD_MISREADINGS.items()}
_NAMES = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(patterns.NAMES, key=len, reverse=True)))
_PLACES = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(patterns.PLACES, key=len, reverse=True)))
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
    """The slot errors of a text.

    ``added``: slots in the text that the input does not have (the slot's name, once per value). ``missing``, ``wrong``:
    positions of triples that are absent, or present with another value. ``name``: whether the name is missing.
    ``repeated``: number of further mentions of values.
    """

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
        """Whether a slot is missing or has another value."""
        return bool(self.missing or self.wrong or self.name != "said")

    @property
    def hallucination(self) -> bool:
        """Whether a slot is added or has another value."""
        return bool(self.added or self.wrong or self.name == "wrong")


def normalise(text: str) -> str:
    """Lower case without accents, with blanks, dashes and pound signs in the form that the patterns expect."""
    text = unicodedata.normalize("NFKD", text.replace("£", "\x00"))
    text = "".join(c for c in text if not unicodedata.combining(c)).replace("\x00", "£").lower()
    for pattern, replacement in _TIDY:
        text = pattern.sub(replacement, text)
    return text.strip()


def mentions(text: str) -> dict[str, dict[str, int]]:
    """Slot → value → number of mentions in a normalised text whose names are masked."""
    found: dict[str, dict[str, int]] = {}
    for slot, values in _VALUES.items():
        for value, pattern in values.items():
            count = sum(1 for _ in pattern.finditer(text))
            if count:
                found.setdefault(slot, {})[value] = count
    without, denied = _FAMILY_NO.subn(" ; ", text)
    welcome = sum(1 for _ in _FAMILY_YES.finditer(without))
    family = {"no": denied, "yes": welcome}
    if denied or welcome:
        found["familyFriendly"] = {value: count for value, count in family.items() if count}
    return found


def judge(triples: Sequence[Triple], text: str, *, as_gold: bool = False) -> SlotErrors:
    """Compare a text with its slots; the subject of the triples is the name.

    Args:
        as_gold: also count the values that the gold of the data wrongly finds in some texts.
    """
    text = normalise(text)
    name = normalise(triples[0].subject) if triples else ""
    near = {normalise(t.object) for t in triples if t.predicate == "near"}
    masked, said = _mask(text, name, near)
    found = mentions(masked)
    for (slot, value), pattern in _MISREADINGS.items() if as_gold else ():
        if pattern.search(masked):
            found.setdefault(slot, {}).setdefault(value, 1)
    missing: list[int] = []
    wrong: list[int] = []
    added: list[str] = []
    repeated = 0
    slots: dict[str, list[tuple[int, str]]] = {}
    for position, triple in enumerate(triples):
        if triple.predicate == "near":
            if normalise(triple.object) not in said:
                missing.append(position)
        else:
            slots.setdefault(triple.predicate, []).append((position, triple.object))
    for slot in dict.fromkeys([*patterns.SLOTS, *found, *slots]):
        values = dict(found.get(slot, {}))
        wanted = slots.get(slot, [])
        absent = [position for position, value in wanted if not _take(values, slot, value)]
        others = list(values)
        if absent and others:
            wrong += absent
            others = others[len(absent) :]
        else:
            missing += absent
        added += [slot] * len(others)
        repeated += sum(count - 1 for count in found.get(slot, {}).values())
    others_named = set(_NAMES.findall(masked))
    state = "said" if name in said or not name else "wrong" if others_named else "missing"
    if state == "said":
        added += ["name"] * len(others_named)
    return SlotErrors(sorted(missing), sorted(wrong), added, state, repeated, len(triples) + 1)


def _take(values: dict[str, int], slot: str, value: str) -> bool:
    """Whether a value is mentioned, by its own words or by accepted ones; removes these mentions from ``values``."""
    own = (value, *patterns.ALSO.get(slot, {}).get(value, ()))
    return sum(values.pop(name, 0) for name in own) > 0


def _mask(text: str, name: str, near: set[str]) -> tuple[str, set[str]]:
    """Mask the expected names and the names of known places in a text; also returns the expected names found."""
    said = set()
    for own in sorted({name, *near} - {""}, key=len, reverse=True):
        masked = re.sub(rf"(?<!\w){re.escape(own)}(?!\w)", " # ", text)
        if masked != text:
            said.add(own)
        text = masked
    return _PLACES.sub(" # ", text), said
