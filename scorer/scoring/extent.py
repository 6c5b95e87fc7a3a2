"""How much of its inputs an output holds: all, the first rows (``--limit``), or not all shards."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..errors import UsageError
from .plan import Plan

_MOST_NAMED = 3


@dataclass(frozen=True)
class Extent:
    """``limit``: rows that the run was to score, null when all were. ``lacking``: paths of the shards that were planned
    and not scored; ``planned``: how many were. ``finished``: whether the run says so itself (``_SUCCESS``)."""

    limit: int | None
    lacking: tuple[str, ...]
    planned: int
    finished: bool

    @property
    def reason(self) -> str | None:
        """What is missing, as a phrase; ``None`` when nothing is."""
        found = []
        if self.limit is not None:
            found.append(f"only the first {self.limit:,} rows were scored (--limit)")
        if self.lacking:
            named = ", ".join(name.encode("utf-8", "replace").decode() for name in self.lacking[:_MOST_NAMED])
            more = f" and {len(self.lacking) - _MOST_NAMED} more" if len(self.lacking) > _MOST_NAMED else ""
            found.append(f"{len(self.lacking):,} of {self.planned:,} shards were not scored: {named}{more}")
        elif not self.finished:
            found.append("the run did not finish")
        return "; ".join(found) or None


def extent(plan: Plan, rows: int, done: Collection[str], finished: bool) -> Extent:
    """How much an output holds.

    Args:
        plan: of the run.
        rows: of the output.
        done: relative paths of the shards that have a receipt.
    """
    # Fewer rows than the limit are all that there are.
    cut = plan.limit is not None and rows >= plan.limit
    lacking = tuple(sorted(name for name in plan.inputs if name not in done))
    return Extent(plan.limit if cut else None, lacking, len(plan.inputs), finished)


def refuse_unequal(out: Extent, baseline: Extent, allowed: bool) -> None:
    """Refuse to compare outputs when one lacks rows that the other has.

    Two runs with the same limit compare: both hold the first rows.

    Raises:
        UsageError: says which of them is partial, and why.
    """
    equal = out.limit == baseline.limit and not (out.lacking or baseline.lacking) and out.finished and baseline.finished
    if allowed or equal:
        return
    if out.reason is None:
        said = f"the baseline is partial ({baseline.reason}), and the output is complete"
    elif baseline.reason is None:
        said = f"the output is partial ({out.reason}), and the baseline is complete"
    else:
        said = f"the output is partial ({out.reason}), and so is the baseline, in another way ({baseline.reason})"
    raise UsageError(f"{said}: rows that were not scored would count as removed or added; score all, or pass "
                     "--allow-partial to compare them anyway")  # fmt: skip
