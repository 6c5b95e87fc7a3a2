"""The table of true rates, from the value that ``--json`` prints."""

from __future__ import annotations

from ...evaluation.rates import RateReport
from ...system.display import all_visible
from .evaluation import wide_console
from .figures import INTERVAL, interval, share, table

_NAMES = {"not_ok_rate": "not_OK", "omission_rate": "omission", "hallucination_rate": "hallucination"}


def print_rates(report: RateReport) -> None:
    """Print the rates of all rows, then those of groups."""
    console, report = wide_console(), all_visible(report)
    console.print(f"{report.path}: {report.rows:,} rows, {report.labels:,} of them labelled")
    console.print(f"signature: {report.signature or 'no signature'}\n")
    whole = [one for one in report.rates if one.group is None]
    made = table("rate", "true", INTERVAL, "metric's own", "labels", "random labels for as much")
    for one in whole:
        made.add_row(_NAMES[one.rate], share(one.value), interval((one.low, one.high), share), share(one.metric),
                     f"{one.labels:,}", f"{one.random_labels:,}")  # fmt: skip
    console.print(made)
    for one in whole:
        if not one.low <= one.metric <= one.high:
            own = f"the metric's own {_NAMES[one.rate]} rate, {share(one.metric)}"
            console.print(f"note: {own}, is outside the interval")
    if report.by is not None:
        made = table("group", "rate", "true", INTERVAL, "metric's own", "rows", "labels", left=2)
        for one in report.rates:
            if one.group is not None:
                made.add_row(one.group, _NAMES[one.rate], share(one.value), interval((one.low, one.high), share),
                             share(one.metric), f"{one.rows:,}", f"{one.labels:,}")  # fmt: skip
        console.print(f"\nBy {report.by}")
        console.print(made)
