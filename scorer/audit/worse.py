"""Rows that fail and did not before, with what was there, and how many got better."""

from __future__ import annotations

from collections.abc import Sequence

from ..metric.templates import Templates
from ..metric.verdict import FINE
from ..scoring.outputs import arrow_errors
from . import queries
from .document import Worse, WorseRow, WorstRow
from .queries import Pair
from .rows import shown_columns, shown_row
from .scan import ScannedRun
from .shown_rows import Why
from .states import FINE_OF, Counts


def got_worse(
    before: ScannedRun, after: ScannedRun, most: int, columns: Sequence[str], templates: Templates | None
) -> Worse:
    """How many rows got worse and better, paired by input, and some of the first to read.

    Args:
        most: rows to read. columns: shown as the row's group.
    """
    flipped, better = _moved(queries.kept(after, ())[0])
    rewritten, better_rewritten = _moved(queries.rewritten(after, ())[0])
    chosen = queries.failing_now(after, -(-most // 3))
    return Worse(
        flipped=flipped,
        rewritten=rewritten,
        better=better + better_rewritten,
        added_failing=int(queries.added(after, ())[0][FINE_OF > queries.OK].sum()),
        rows=_read(before, after, chosen, columns, templates),
    )


def _moved(pairs: Counts) -> tuple[int, int]:
    """Pairs that went from OK to another label, and back. *Shape:* (STATES, STATES)."""
    ok, fails = queries.OK == FINE_OF, FINE_OF > queries.OK
    return int(pairs[ok][:, fails].sum()), int(pairs[fails][:, ok].sum())


def _read(
    before: ScannedRun,
    after: ScannedRun,
    chosen: dict[Why, list[Pair]],
    columns: Sequence[str],
    templates: Templates | None,
) -> list[WorseRow]:
    pairs = [pair for some in chosen.values() for pair in some]
    tables = dict(after.output.take([pair.row for pair in pairs], shown_columns(after.output, columns)))
    earlier = [pair.before for pair in pairs if pair.before >= 0]
    there = [name for name in columns if name in before.output.names]
    tables_before = dict(before.output.take(earlier, shown_columns(before.output, there)))
    found = []
    for why, some in chosen.items():
        for row, place, label, label_before in some:
            with arrow_errors(after.output):
                now = shown_row(after.output, row, FINE[label], tables[row], columns, templates)
            old: WorstRow | None = None
            if place >= 0:
                with arrow_errors(before.output):
                    old = shown_row(before.output, place, "", tables_before[place], there, templates)
            found.append(
                WorseRow(
                    why=why,
                    before=FINE[label_before] if label_before >= 0 else None,
                    text_before=old.text if old is not None else None,
                    now=now,
                )
            )
    return found
