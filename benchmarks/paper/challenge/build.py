"""The whole challenge set, from a seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.evaluation.challenge import CHALLENGE, TEMPLATES
from scorer.metric.facts import Triple

from .case import NOT_OK, OK, OMISSION, Case, Kind
from .domains import DOMAINS
from .edits import KINDS, make_record
from .pairs import PAIR_KINDS, PAIR_TEMPLATES

PER_KIND = 200
SEED = 1
REVISION = 3
"""Rises when the texts of a seed change; figures compare under the same one."""
_TRIES = 400
_TRIPLES = pa.list_(pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())]))
_COLUMNS = [("pair", pa.int32()), ("variant", pa.string()), ("kind", pa.string()), ("change", pa.string()),
            ("domain", pa.string()), ("gold_fine", pa.string()), ("fact", pa.int8()), ("triples", _TRIPLES),
            ("text", pa.string())]  # fmt: skip

_ALL = (*KINDS, *PAIR_KINDS)
ABOUT = {kind.name: kind.about for kind in _ALL}
"""What is changed, by name of the kind, in the order in which the kinds are shown."""


def build_cases(per_kind: int = PER_KIND, seed: int = SEED) -> list[Case]:
    """The set: so many cases of every kind, no edited text twice within a kind. The same seed gives the same texts."""
    return [found for kind in _ALL for found in _cases(kind, per_kind, seed)]


def templates() -> dict[str, str]:
    """The templates of all facts of the set, as a template file has them."""
    found = {a.predicate: a.template for domain in DOMAINS for a in domain.attributes}
    return found | {predicate: template for (_, predicate), template in PAIR_TEMPLATES.items()}


def as_table(cases: list[Case]) -> pa.Table:
    """The set as :func:`scorer.evaluation.challenge.read_challenge` describes it: base and edited text of every pair,
    then the rows with reordered facts, then those with more facts."""
    rows = []
    for number, one in enumerate(cases):
        gold = "omission+hallucination" if one.expected == NOT_OK else one.expected
        rows.append(_row(number, one, "base", OK, one.triples, one.base))
        rows.append(_row(number, one, "edited", gold, one.triples, one.edited))
    for number, one in enumerate(cases):
        if one.kind in ("paraphrase", "other order") and len(one.triples) > 1:
            rows.append(_row(number, one, "reordered", OK, _reordered(one), one.base))
    for number, one in enumerate(cases):
        if one.kind in ("paraphrase", "other order", "extra fact"):
            rows.append(_row(number, one, "extended", *_extended(one)))
    metadata = {"revision": str(REVISION), "seed": str(SEED)}
    return pa.Table.from_pylist(rows, pa.schema(_COLUMNS, metadata))


def write(folder: Path) -> None:
    """Write the files of the package: ``challenge.parquet`` and its templates, ``challenge.json``."""
    table = as_table(build_cases())
    pq.write_table(table, folder / CHALLENGE.name, compression="zstd", compression_level=19)
    text = json.dumps(templates(), ensure_ascii=False, indent=1)
    (folder / TEMPLATES.name).write_text(text + "\n", encoding="utf-8")


def _row(pair: int, one: Case, variant: str, gold: str, triples: Iterable[Triple], text: str) -> dict[str, Any]:
    facts = [triple._asdict() for triple in triples]
    return {"pair": pair, "variant": variant, "kind": one.kind, "change": ABOUT[one.kind], "domain": one.domain,
            "gold_fine": gold, "fact": one.fact, "triples": facts, "text": text}  # fmt: skip


def _reordered(one: Case) -> tuple[Triple, ...]:
    """The facts in another order; the same one for the same case."""
    facts = list(one.triples)
    rng = Random(one.base)
    while tuple(facts) == one.triples:
        rng.shuffle(facts)
    return tuple(facts)


def _extended(one: Case) -> tuple[str, tuple[Triple, ...], str]:
    """Label, facts and text of a row with three more facts about an entity of another domain, which the text omits."""
    wrong = one.kind == "extra fact"
    text = one.edited if wrong else one.base
    rng = Random(text)
    added = make_record(rng.choice([domain for domain in DOMAINS if domain.name != one.domain]), 3, rng)
    return "omission+hallucination" if wrong else OMISSION, (*one.triples, *added.triples), text


def _cases(kind: Kind, count: int, seed: int) -> Iterator[Case]:
    rng = Random(f"{seed} {kind.name}")
    seen: set[str] = set()
    tries = 0
    while len(seen) < count:
        found = kind.make(len(seen), rng)
        tries += 1
        if found is not None and found.edited not in seen and found.edited != found.base:
            seen.add(found.edited)
            tries = 0
            yield Case(
                kind.name, found.domain, tuple(found.triples), found.base, found.edited, kind.expected, found.fact
            )
        if tries > _TRIES:
            raise ValueError(f"there are no {count:,} different cases of the kind {kind.name!r}; ask for fewer")
