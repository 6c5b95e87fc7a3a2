"""What a receipt counts of a shard, and ``_run.json`` of a run: values that add up.

The counts of a window become those of a shard, and these those of a run, by :meth:`Counts.total`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from msgspec import field

from ..system.codec import Count, OpenRecord


class _Sums(OpenRecord, frozen=True):
    """Counts: every field is a number, an object of them, counts again, or ``None``."""

    @classmethod
    def total(cls, many: Iterable[Self]) -> Self:
        """Their sum, field by field; of none, all counts are 0. Keys of objects come in the order in which they are
        first met."""
        parts = list(many)
        found: Self = _sum(parts) if parts else cls()
        return found


class RowCounts(_Sums, frozen=True):
    """``all`` (``in`` in JSON) = ``scored`` + ``reused`` + all ``errors``. ``errors``, ``notes``: by kind."""

    all: Count = field(name="in", default=0)
    scored: Count = 0
    reused: Count = 0
    errors: Mapping[str, Count] = field(default_factory=dict)
    notes: Mapping[str, Count] = field(default_factory=dict)


class PredicateCounts(_Sums, frozen=True):
    """Facts of one predicate: with a template, and by backoff."""

    template: Count = 0
    backoff: Count = 0

    @property
    def all(self) -> int:
        """Facts of both kinds."""
        return self.template + self.backoff


class FactCounts(_Sums, frozen=True):
    """Facts with a template, and by backoff; ``by_predicate``: the same of each predicate. ``skipped``: attributes that
    are null, and no facts."""

    template: Count = 0
    backoff: Count = 0
    by_predicate: Mapping[str, PredicateCounts] = field(default_factory=dict)
    skipped: Count = 0

    @property
    def all(self) -> int:
        """Facts of both kinds."""
        return self.template + self.backoff


class CheckCounts(_Sums, frozen=True):
    """Checks that were asked (``all``), distinct pairs among them (``unique``), pairs that the model computed, and
    those that it computed again in fp32 (``recomputed``)."""

    all: Count = 0
    unique: Count = 0
    computed: Count = 0
    recomputed: Count = 0


class TokenCounts(_Sums, frozen=True):
    """Tokens of the pairs (``real``), with padding (``padded``), and the sum of the squares of their lengths."""

    real: Count = 0
    padded: Count = 0
    squared: Count = 0


class Counts(_Sums, frozen=True):
    """Counts of rows. ``labels``: rows by label."""

    rows: RowCounts = field(default_factory=RowCounts)
    labels: Mapping[str, Count] = field(default_factory=dict)
    facts: FactCounts = field(default_factory=FactCounts)
    checks: CheckCounts = field(default_factory=CheckCounts)
    tokens: TokenCounts = field(default_factory=TokenCounts)

    @property
    def error_rate(self) -> float:
        """Share of rows that have an error instead of a label."""
        return sum(self.rows.errors.values()) / self.rows.all if self.rows.all else 0.0


def _sum(values: Iterable[Any]) -> Any:
    found = [value for value in values if value is not None]
    if not found:
        return None
    first = found[0]
    if isinstance(first, int):
        return sum(found)
    if isinstance(first, Mapping):
        keys = dict.fromkeys(key for one in found for key in one)
        return {key: _sum(one.get(key) for one in found) for key in keys}
    return type(first)(*(_sum(getattr(one, name) for one in found) for name in first.__struct_fields__))
