"""E2E system outputs as texts with the facts that they express, split by inputs."""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from export.training.e2e.facts import NAMES, PLACES, SLOTS, some_name, some_place
from export.training.e2e.grammar import Says, synthetic_text

SPLIT_SALT = "d2t-scorer embedded"
VALIDATION_SHARE = 0.25


@dataclass(frozen=True)
class Item:
    """A text, the values that it expresses by slot, and (for a system output) the input it was written from."""

    text: str
    says: Says
    mr: dict[str, str] | None = None  # slot -> value, in the input's order
    weight: float = 1.0


def is_validation(mr: str) -> bool:
    """Whether an input belongs to the validation part; a pure function of the input's string."""
    digest = hashlib.sha256(f"{SPLIT_SALT}\0{mr}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 < VALIDATION_SHARE


def read_outputs(data: Path) -> list[dict[str, Any]]:
    """The rows of e2e_all.parquet that the recipe reads, as dicts."""
    columns = [
        "mr",
        "text",
        "triples",
        "gold_diff",
        "gold_fine",
        "gold_suspect",
        "system",
        "is_primary",
        "primary_system",
    ]
    rows: list[dict[str, Any]] = pq.read_table(data / "e2e_all.parquet", columns=columns).to_pylist()
    return rows


def slots_of(row: dict[str, Any]) -> dict[str, str]:
    """The input of a row as slot -> value; the subject is the name."""
    triples = row["triples"]
    return {"name": triples[0]["subject"], **{t["predicate"]: t["object"] for t in triples}}


def said(mr: dict[str, str], diff: dict[str, dict[str, int]]) -> Says:
    """The values that the slot script found in a text: those of the input without the missing, plus the added ones."""
    found: dict[str, set[str]] = {slot: {value} for slot, value in mr.items()}
    for slot, counts in diff.items():
        for value, count in counts.items():
            if count < 0:
                found.get(slot, set()).discard(value)
            else:
                found.setdefault(slot, set()).add(value)
    return {slot: frozenset(values) for slot, values in found.items() if values and slot in SLOTS}


def training_items(rows: list[dict[str, Any]]) -> list[Item]:
    """Distinct (input, text) of the training inputs, without suspect gold; rare errors get a slightly higher weight."""
    items: dict[tuple[str, str], Item] = {}
    for row in rows:
        if is_validation(row["mr"]) or row["gold_suspect"]:
            continue
        mr = slots_of(row)
        says = said(mr, json.loads(row["gold_diff"]))
        weight = 3.0 if "hallucination" in row["gold_fine"] else 1.0
        items.setdefault((row["mr"], row["text"]), Item(row["text"], says, mr, weight))
    return list(items.values())


def _replace(text: str, old: str, new: str) -> str | None:
    pattern = re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda _: new, text) if pattern.search(text) else None


def _swap(item: Item, slot: str, draw: Any, rng: random.Random) -> Item:
    """`item` with every value of `slot` replaced by another one, in its text, its values and its input."""
    mr = dict(item.mr or {})
    said_here = item.says.get(slot, frozenset())
    values = sorted({*said_here, *({mr[slot]} if slot in mr else ())})
    text, new = item.text, dict[str, str]()
    for value in values:
        fresh = draw(rng)
        if fresh.lower() in text.lower() or fresh in new.values():
            return item
        replaced = _replace(text, value, fresh)
        if replaced is None and value in said_here:
            return item  # expressed in other words: keep it unchanged
        text, new[value] = replaced or text, fresh
    if slot in mr:
        mr[slot] = new[mr[slot]]
    says = {**item.says}
    if said_here:
        says[slot] = frozenset(new[value] for value in said_here)
    return Item(text, says, mr or None, item.weight)


_FOODS = ("Italian", "English", "Indian", "Japanese", "Chinese", "French")


def _swap_literal(item: Item, slot: str, values: tuple[str, ...], rng: random.Random) -> Item:
    """`item` with one value of `slot` that is verbatim in the text replaced by another of `values`."""
    held = item.says.get(slot, frozenset())
    if len(held) != 1:
        return item
    (old,) = held
    mr = item.mr
    if old not in values or (mr is not None and slot in mr and mr[slot] != old):
        return item
    new = rng.choice(values)
    lowered = item.text.lower()
    if new.lower() in lowered or lowered.count(old.lower()) != 1:
        return item
    text = _replace(item.text, old, new)
    if text is None:
        return item
    swapped = {**mr, slot: new} if mr is not None and slot in mr else mr
    return Item(text, {**item.says, slot: frozenset((new,))}, swapped, item.weight)


class Source:
    """Samples texts: system outputs with names (and some values) replaced, and synthetic ones."""

    def __init__(self, items: list[Item], synthetic_share: float) -> None:
        self.items = items
        self.synthetic_share = synthetic_share
        self._cumulative: list[float] = []
        total = 0.0
        for item in items:
            total += item.weight
            self._cumulative.append(total)

    def draw(self, rng: random.Random) -> Item:
        """One text with the facts that it expresses."""
        if rng.random() < self.synthetic_share:
            text, says = synthetic_text(rng)
            return Item(text, says)
        item = rng.choices(self.items, cum_weights=self._cumulative)[0]
        if rng.random() < 0.7:
            item = _swap(item, "name", lambda r: r.choice(NAMES) if r.random() < 0.4 else some_name(r), rng)
        if rng.random() < 0.5:
            item = _swap(item, "near", lambda r: r.choice(PLACES) if r.random() < 0.4 else some_place(r), rng)
        if rng.random() < 0.5:
            item = _swap_literal(item, "food", _FOODS, rng)
        if rng.random() < 0.4:
            item = _swap_literal(item, "customer rating", ("1 out of 5", "3 out of 5", "5 out of 5"), rng)
        if rng.random() < 0.4:
            item = _swap_literal(item, "priceRange", ("£20-25", "less than £20", "more than £30"), rng)
        return item
