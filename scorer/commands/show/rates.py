"""The tables of true rates, from the value that ``--json`` prints."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from ...evaluation.rates.result import RateReport
from ...system.display import visible
from .evaluation import wide_console
from .figures import INTERVAL, MISSING, interval, number, share, table

_NAMES = {"not_ok_rate": "not_OK", "omission_rate": "omission", "hallucination_rate": "hallucination"}


def print_rates(report: RateReport, console: Console | None = None) -> None:
    """Print the rates of all rows, by group, and what is known of the calibration.

    ``console``: by default a wide one on stdout.
    """
    console = console or wide_console()
    say = console.print
    say(f"{visible(report.population.name)}: {len(report.population):,} rows")
    say(f"signature: {visible(report.population.scored.signature or 'no signature')}")
    if report.rates:
        say("\nTrue rates, from the labels and the metric together")
        say(_overall(report))
        for rate in (rate for rate in report.rates if rate.group is None):
            if rate.saved > 0:
                say(
                    f"{_NAMES[rate.rate]}: {rate.labels:,} labels do the work of "
                    f"{rate.alone_for_same_width:,} random ones without the metric: {rate.saved:,} saved"
                )
            else:
                say(f"{_NAMES[rate.rate]}: the metric saves no labels here")
        for rate in (rate for rate in report.rates if rate.group is None and not rate.metric_inside):
            say(f"note: the metric's own {_NAMES[rate.rate]} rate, {share(rate.metric)}, is outside the interval")
    if report.by is not None:
        say(f"\nBy {visible(report.by)}")
        say(_groups(report))
    if report.transferred:
        labelled = visible(report.earlier.out) if report.earlier else ""
        say(f"\nTrue rates, if the metric is right as often as in {labelled}")
        say(_transferred(report))
    if report.earlier is not None:
        _calibration(report, console)


def _overall(report: RateReport) -> Table:
    made = table("rate", "true", INTERVAL, "metric's own", "labels alone", INTERVAL, "labels", "more to halve")
    for rate in report.rates:
        if rate.group is None:
            more = MISSING if rate.more_to_halve is None else f"{rate.more_to_halve:,}"
            made.add_row(_NAMES[rate.rate], share(rate.true.value), interval((rate.true.low, rate.true.high), share),
                         share(rate.metric), share(rate.labels_alone.value),
                         interval((rate.labels_alone.low, rate.labels_alone.high), share),
                         f"{rate.labels:,}", more)  # fmt: skip
    return made


def _groups(report: RateReport) -> Table:
    made = table("group", "rate", "true", INTERVAL, "metric's own", "outside", "rows", "labels", left=2)
    for rate in report.rates:
        if rate.group is not None:
            made.add_row(visible(rate.group), _NAMES[rate.rate], share(rate.true.value),
                         interval((rate.true.low, rate.true.high), share), share(rate.metric),
                         "" if rate.metric_inside else "yes", f"{rate.rows:,}", f"{rate.labels:,}")  # fmt: skip
    return made


def _transferred(report: RateReport) -> Table:
    made = table("rate", "true", INTERVAL, "metric's own", "labels then")
    for rate in report.transferred:
        made.add_row(_NAMES[rate.rate], share(rate.value), interval((rate.low, rate.high), share), share(rate.metric),
                     f"{rate.labels:,}")  # fmt: skip
    return made


def _calibration(report: RateReport, console: Console) -> None:
    for one in report.holding:
        verdict = "agree with" if one.holds else "contradict"
        console.print(f"{_NAMES[one.rate]}: the labels {verdict} the calibration (p {number(one.p)})")
    found = report.shift
    if found is not None:
        console.print(f"shift of the confidences since then: {number(found)} (population stability index)")
    if report.shifted:
        console.print(
            "note: the confidences shifted; label some rows of this output and test the calibration: scorer sample"
        )
    elif not report.holding:
        console.print("note: without labels of this output, nothing tests whether the metric is still right as often")
