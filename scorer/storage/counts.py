"""What a receipt counts of a shard, and ``_run.json`` of a run: values that add up.

The counts of a window become those of a shard, and these those of a run, by :meth:`Counts.total`. All fields are
numbers of what they name; a count that an earlier version did not write is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Self

from ..system.json_fields import Fields


@dataclass(frozen=True)
class _Sums:
    """Counts of which every field is an integer."""

    @classmethod
    def total(cls, many: Iterable[Self]) -> Self:
        """Their sum."""
        parts = list(many)
        return cls(*(sum(getattr(one, name) for one in parts) for name in _names(cls)))

    def to_json(self) -> dict[str, int]:
        """As a JSON object."""
        return {name: getattr(self, name) for name in _names(type(self))}

    @classmethod
    def from_json(cls, found: Fields) -> Self:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(*map(found.count, _names(cls)))


@dataclass(frozen=True)
class RowCounts:
    """``all`` (``in`` in JSON) = ``scored`` + ``reused`` + all ``errors``. ``errors``, ``notes``: by kind."""

    all: int = 0
    scored: int = 0
    reused: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def total(cls, many: Iterable[RowCounts]) -> RowCounts:
        """Their sum."""
        parts = list(many)
        return cls(
            sum(one.all for one in parts),
            sum(one.scored for one in parts),
            sum(one.reused for one in parts),
            added(one.errors for one in parts),
            added(one.notes for one in parts),
        )

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "in": self.all,
            "scored": self.scored,
            "reused": self.reused,
            "errors": dict(self.errors),
            "notes": dict(self.notes),
        }

    @classmethod
    def from_json(cls, found: Fields) -> RowCounts:
        """From a JSON object; see :class:`Fields` for errors."""
        return cls(
            found.count("in"),
            found.count("scored"),
            found.count("reused"),
            found.counts("errors"),
            found.counts("notes"),
        )


@dataclass(frozen=True)
class PredicateCounts(_Sums):
    """Facts of one predicate: with a template, and by backoff."""

    template: int = 0
    backoff: int = 0

    @property
    def all(self) -> int:
        """Facts of both kinds."""
        return self.template + self.backoff


@dataclass(frozen=True)
class FactCounts:
    """Facts with a template, and by backoff; ``by_predicate``: the same of each predicate. ``skipped``: attributes that
    are null, and no facts."""

    template: int = 0
    backoff: int = 0
    by_predicate: Mapping[str, PredicateCounts] = field(default_factory=dict)
    skipped: int = 0

    @property
    def all(self) -> int:
        """Facts of both kinds."""
        return self.template + self.backoff

    @classmethod
    def total(cls, many: Iterable[FactCounts]) -> FactCounts:
        """Their sum."""
        parts = list(many)
        template = added({name: n.template for name, n in one.by_predicate.items()} for one in parts)
        backoff = added({name: n.backoff for name, n in one.by_predicate.items()} for one in parts)
        return cls(
            sum(one.template for one in parts),
            sum(one.backoff for one in parts),
            {name: PredicateCounts(count, backoff[name]) for name, count in template.items()},
            sum(one.skipped for one in parts),
        )

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        by_predicate = {name: n.to_json() for name, n in self.by_predicate.items()}
        skipped = {"skipped": self.skipped} if self.skipped else {}  # only attributes have nulls
        return {"template": self.template, "backoff": self.backoff, "by_predicate": by_predicate, **skipped}

    @classmethod
    def from_json(cls, found: Fields) -> FactCounts:
        """From a JSON object; see :class:`Fields` for errors."""
        by_predicate = {name: PredicateCounts.from_json(one) for name, one in found.each("by_predicate").items()}
        return cls(found.count("template"), found.count("backoff"), by_predicate, found.count("skipped"))


@dataclass(frozen=True)
class CheckCounts(_Sums):
    """Checks that were asked (``all``), distinct pairs among them (``unique``), pairs that the model computed, and
    those that it computed again in fp32 (``recomputed``)."""

    all: int = 0
    unique: int = 0
    computed: int = 0
    recomputed: int = 0


@dataclass(frozen=True)
class TokenCounts(_Sums):
    """Tokens of the pairs (``real``), with padding (``padded``), and the sum of the squares of their lengths."""

    real: int = 0
    padded: int = 0
    squared: int = 0


@dataclass(frozen=True)
class RecheckCounts(_Sums):
    """Reused rows that were scored again, and how many of them disagreed."""

    rows: int = 0
    disagreed: int = 0


@dataclass(frozen=True)
class Counts:
    """Counts of rows. ``labels``: rows by label. ``recheck``: ``None`` where no earlier output was reused."""

    rows: RowCounts = field(default_factory=RowCounts)
    labels: Mapping[str, int] = field(default_factory=dict)
    facts: FactCounts = field(default_factory=FactCounts)
    checks: CheckCounts = field(default_factory=CheckCounts)
    tokens: TokenCounts = field(default_factory=TokenCounts)
    recheck: RecheckCounts | None = None

    @classmethod
    def total(cls, many: Iterable[Counts]) -> Counts:
        """Their sum; of none, all counts are 0."""
        parts = list(many)
        rechecks = [one.recheck for one in parts if one.recheck is not None]
        return cls(
            RowCounts.total(one.rows for one in parts),
            added(one.labels for one in parts),
            FactCounts.total(one.facts for one in parts),
            CheckCounts.total(one.checks for one in parts),
            TokenCounts.total(one.tokens for one in parts),
            RecheckCounts.total(rechecks) if rechecks else None,
        )

    @property
    def error_rate(self) -> float:
        """Share of rows that have an error instead of a label."""
        return sum(self.rows.errors.values()) / self.rows.all if self.rows.all else 0.0

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        content: dict[str, object] = {
            "rows": self.rows.to_json(),
            "labels": dict(self.labels),
            "facts": self.facts.to_json(),
            "checks": self.checks.to_json(),
            "tokens": self.tokens.to_json(),
        }
        return content if self.recheck is None else {**content, "recheck": self.recheck.to_json()}

    @classmethod
    def from_json(cls, found: Fields) -> Counts:
        """From a JSON object, in which other fields may stand as well.

        Raises:
            OutputError: a field is of another type; names the file, the field and its value.
        """
        recheck = found.optional_inner("recheck")
        return cls(
            RowCounts.from_json(found.inner("rows")),
            found.counts("labels"),
            FactCounts.from_json(found.inner("facts")),
            CheckCounts.from_json(found.inner("checks")),
            TokenCounts.from_json(found.inner("tokens")),
            RecheckCounts.from_json(recheck) if recheck is not None else None,
        )


def added(many: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sum by key, keys in the order in which they are first met."""
    result: dict[str, int] = {}
    for one in many:
        for key, count in one.items():
            result[key] = result.get(key, 0) + count
    return result


def _names(kind: type[_Sums]) -> list[str]:
    return [one.name for one in fields(kind)]
