"""The whole challenge set, from a seed."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pyarrow as pa

from ...errors import UsageError
from .case import Case, Kind
from .domains import DOMAINS
from .edits import KINDS
from .pairs import PAIR_KINDS, TEMPLATES

PER_KIND = 200
SEED = 1
REVISION = 3
"""Rises when the texts of a seed change; figures compare under the same one."""
_TRIES = 400
TRIPLES = pa.list_(pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())]))

_ALL = (*KINDS, *PAIR_KINDS)
ABOUT = {kind.name: kind.about for kind in _ALL}
"""What is changed, by name of the kind, in the order in which the kinds are shown."""


def build_cases(per_kind: int = PER_KIND, seed: int = SEED) -> list[Case]:
    """The set: so many cases of every kind, no edited text twice within a kind. The same seed gives the same texts."""
    return [found for kind in _ALL for found in _cases(kind, per_kind, seed)]


def templates() -> dict[str, str]:
    """The templates of all facts of the set, as a template file has them."""
    found = {a.predicate: a.template for domain in DOMAINS for a in domain.attributes}
    return found | {predicate: template for (_, predicate), template in TEMPLATES.items()}


def as_table(cases: list[Case]) -> pa.Table:
    """The set as input rows of ``scorer run``: every base text and every edited text.

    Columns: ``id`` (number of the case and ``base`` or ``edited``), ``kind``, ``domain``, ``triples``, ``text``,
    ``expected``, ``gold_rough``.
    """
    rows = [(number, one, which) for number, one in enumerate(cases) for which in ("base", "edited")]
    expected = ["OK" if which == "base" else one.expected for _, one, which in rows]
    return pa.table(
        {
            "id": [f"{number}-{which}" for number, _, which in rows],
            "kind": [one.kind for _, one, _ in rows],
            "domain": [one.domain for _, one, _ in rows],
            "triples": pa.array([[triple._asdict() for triple in one.triples] for _, one, _ in rows], TRIPLES),
            "text": [one.base if which == "base" else one.edited for _, one, which in rows],
            "expected": expected,
            "gold_rough": ["OK" if label == "OK" else "not_OK" for label in expected],
        }
    )


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
            raise UsageError(f"there are no {count:,} different cases of the kind {kind.name!r}; ask for fewer")
