"""A pinned run that gates compare with: a rise too slow for any night against the night before adds up against it.

It is an output, ``folder/``, or one night of a history file, ``history.parquet@2026-01-01T03:00:00+00:00``. Its rows
are counted by group and not joined, so that the interval of a difference takes both runs as disjoint samples, which is
too wide where rows were kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from ..errors import UsageError
from ..scoring.extent import refuse_unequal
from ..scoring.outputs import Output, open_output
from ..scoring.signature import differences
from ..scoring.snapshot import unchanged
from ..stats.intervals import Rate, rate
from . import history, queries
from .database import Database
from .document import RATES, Group, ReferenceShown
from .grouping import Grouping
from .scan import scan_output
from .states import Bools, Counts, Policy

_Named = tuple[tuple[str, str | None], ...]
_MOST_LISTED = 5


@dataclass(frozen=True)
class Reference:
    """Rates by group, of rows taken as independent. ``shown``: where they are from."""

    shown: ReferenceShown
    rates: Mapping[_Named, Mapping[str, Rate]]

    def rate(self, group: Group, metric: str) -> Rate | None:
        """A rate of a group; ``None`` when the reference has no row of it."""
        found = self.rates.get(_named(group))
        return found[metric] if found is not None else None


def read_reference(
    place: Path,
    output: Output,
    groupings: Sequence[Grouping],
    errors: Policy,
    *,
    across_signatures: bool = False,
    allow_partial: bool = False,
) -> Reference:
    """The rates of a pinned run, for comparing ``output`` with it.

    Args:
        place: an output folder, or a history file, ``@`` and a night in it.
        groupings: whose groups are counted; a history has the groups that it was written with.

    Raises:
        OutputError: no finished output, or no history. UsageError: no such night, or a run that was scored differently.
        ColumnError: a column whose values cannot name groups.
    """
    file, at, night = str(place).rpartition("@")
    if at and not place.exists():
        return _of_history(Path(file), night, output, across_signatures)
    pinned = open_output(place, allow_partial)
    refuse_unequal(output.extent, pinned.extent, allow_partial)
    differs = differences(pinned.full_signature, output.full_signature)
    if differs and not across_signatures:
        raise _scored_differently(place, "; ".join(differs))
    rates = {}
    with unchanged([pinned.snapshot]), Database(groupings) as database:
        run = scan_output(pinned, database, "pinned", None)
        masks = run.rate_states(errors)
        for grouping, groups in database.groups.items():
            states = queries.states(run, grouping)
            for code, group in enumerate(groups.groups()):
                rates[_named(group)] = {name: _rate(masks[name], states[code]) for name in RATES}
    return Reference(_shown(place, pinned.summary.finished, pinned.signature), rates)


def _rate(masks: tuple[Bools, Bools], states: Counts) -> Rate:
    """A rate from rows by state, *Shape:* (STATES,)."""
    counted, hits = masks
    return rate(int(states[hits].sum()), int(states[counted].sum()))


def _of_history(file: Path, night: str, output: Output, across_signatures: bool) -> Reference:
    lines = history.read(file, "--reference")
    chosen = [line for line in lines if line.night == night]
    if not chosen:
        nights = list(dict.fromkeys(line.night for line in lines))
        there = f"the last are {', '.join(nights[-_MOST_LISTED:])}" if nights else "it has none, or is not there"
        raise UsageError(f"--reference {file}@{night}: the history has no such night; {there}")
    if chosen[0].signature != output.signature and not across_signatures:
        raise _scored_differently(file, f"{chosen[0].signature} → {output.signature}")
    rates = {}
    for line in chosen:
        values, n = line.rates, line.rows
        shares = {name: getattr(values, name) for name in RATES}
        rates[_named(line.group)] = {
            name: rate(0, 0) if share is None else replace(rate(round(share * n), n), value=share)
            for name, share in shares.items()
        }
    return Reference(_shown(file, night, chosen[0].signature), rates)


def _scored_differently(place: Path, differs: str) -> UsageError:
    return UsageError(
        f"--reference {place} was scored differently ({differs}); score the reference again, or pass "
        "--across-signatures"
    )


def _shown(place: Path, finished: str, signature: str) -> ReferenceShown:
    return ReferenceShown(out=str(place).encode("utf-8", "replace").decode(), finished=finished, signature=signature)


def _named(group: Group) -> _Named:
    return tuple(sorted(group.items()))
