"""A run as events of OpenLineage: what it read, what it wrote, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..scoring.lineage import Job, dataset, facet
from ..scoring.summary import RunSummary


def openlineage(inputs: Sequence[str], out: Path, summary: RunSummary, started: str, *, failed: bool) -> bytes:
    """The start and the end of a run, as JSON Lines.

    Args:
        inputs: as the user named them.
        started: ISO 8601, UTC.
        failed: shards failed, or too many rows have errors.

    Raises:
        UsageError: the variable that names the parent is not of its form.
    """
    rows = summary.counts.rows
    reason = f"{summary.shards.failed:,} shards failed; {sum(rows.errors.values()):,} of {rows.all:,} rows have errors"
    counts = {"rowCount": summary.counts.rows.all, "fileCount": summary.shards.done}
    written = dataset(out, outputFacets={"outputStatistics": facet("OutputStatisticsOutputDatasetFacet", counts)})
    return Job(
        name="scorer run",
        started=started,
        ended=summary.finished,
        message=reason if failed else None,
        inputs=[dataset(one) for one in inputs],
        outputs=[written],
    ).to_lines()
