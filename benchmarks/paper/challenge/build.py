"""The whole challenge set, from a seed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.evaluation.challenge_set import CHALLENGE, TEMPLATES
from scorer.metric.facts import Triple

from .kinds import KINDS, NOT_OK, OK, OMISSION, ChangeKind, EditedText, templates
from .texts import DOMAINS, invent

PER_KIND = 200
SEED = 1
REVISION = 3
"""Rises when the texts of a seed change; figures compare under the same one."""
_TRIES = 400
_TRIPLES = pa.list_(pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())]))
_COLUMNS = [("pair", pa.int32()), ("variant", pa.string()), ("kind", pa.string()), ("change", pa.string()),
            ("domain", pa.string()), ("gold_fine", pa.string()), ("fact", pa.int8()), ("triples", _TRIPLES),
            ("text", pa.string())]  # fmt: skip


@dataclass(frozen=True)
class Case:
    kind: ChangeKind
    pair: EditedText


def build_cases(per_kind: int = PER_KIND, seed: int = SEED) -> list[Case]:
    """The set: so many cases of every kind, no edited text twice within a kind. The same seed gives the same texts."""
    return [Case(kind, pair) for kind in KINDS for pair in _pairs(kind, per_kind, seed)]


def _pairs(kind: ChangeKind, count: int, seed: int) -> list[EditedText]:
    rng, found, tries = Random(f"{seed} {kind.name}"), dict[str, EditedText](), 0
    while len(found) < count:
        pair = kind.make(len(found), rng)
        tries += 1
        if pair is not None and pair.edited not in found and pair.edited != pair.base:
            found[pair.edited], tries = pair, 0
        if tries > _TRIES:
            raise ValueError(f"there are no {count:,} different cases of the kind {kind.name!r}; ask for fewer")
    return list(found.values())


def as_table(cases: list[Case]) -> pa.Table:
    """The set as :func:`scorer.evaluation.challenge_set.read_challenge` describes it.

    Base and edited text of every pair come first, then the rows with reordered facts, then those with more facts."""
    rows = []

    def add(number: int, variant: str, gold: str, triples: Iterable[Triple], text: str) -> None:
        kind, pair = cases[number].kind, cases[number].pair
        rows.append({"pair": number, "variant": variant, "kind": kind.name, "change": kind.about,
                     "domain": pair.domain, "gold_fine": gold, "fact": pair.fact,
                     "triples": [triple._asdict() for triple in triples], "text": text})  # fmt: skip

    for number, one in enumerate(cases):
        expected = one.kind.expected
        add(number, "base", OK, one.pair.triples, one.pair.base)
        gold = "omission+hallucination" if expected == NOT_OK else expected
        add(number, "edited", gold, one.pair.triples, one.pair.edited)
    kept = ("paraphrase", "other order")
    for number, one in enumerate(cases):
        if one.kind.name in kept and len(one.pair.triples) > 1:
            add(number, "reordered", OK, _reordered(one.pair), one.pair.base)
    for number, one in enumerate(cases):
        if one.kind.name in (*kept, "extra fact"):
            # Three more facts about an entity of another domain, which the text omits.
            wrong = one.kind.name == "extra fact"
            text = one.pair.edited if wrong else one.pair.base
            rng = Random(text)
            added = invent(rng.choice([d for d in DOMAINS if d.name != one.pair.domain]), 3, rng)
            gold = "omission+hallucination" if wrong else OMISSION
            add(number, "extended", gold, (*one.pair.triples, *added.triples), text)
    return pa.Table.from_pylist(rows, pa.schema(_COLUMNS, {"revision": str(REVISION), "seed": str(SEED)}))


def _reordered(pair: EditedText) -> list[Triple]:
    facts, rng = list(pair.triples), Random(pair.base)
    while facts == list(pair.triples):
        rng.shuffle(facts)
    return facts


def write(folder: Path) -> None:
    """Write the files of the package: ``challenge.parquet`` and its templates, ``challenge.json``."""
    pq.write_table(as_table(build_cases()), folder / CHALLENGE.name, compression="zstd", compression_level=19)
    text = json.dumps(templates(), ensure_ascii=False, indent=1)
    (folder / TEMPLATES.name).write_text(text + "\n", encoding="utf-8")
