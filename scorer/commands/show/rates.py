"""The tables of true rates, from the value that ``--json`` prints."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from ...evaluation.rates.estimates import LEVEL, TrueRate
from ...evaluation.rates.report import RateReport
from ...system.display import all_visible
from .evaluation import wide_console
from .figures import INTERVAL, MISSING, interval, number, points, share, table

_NAMES = {"not_ok_rate": "not_OK", "omission_rate": "omission", "hallucination_rate": "hallucination"}


def print_rates(report: RateReport, console: Console | None = None) -> None:
    """Print the rates of all rows, by group, and what is known of the calibration.

    ``console``: by default a wide one on stdout.
    """
    console, report = console or wide_console(), all_visible(report)
    say = console.print
    say(f"{report.path}: {report.rows:,} rows")
    say(f"signature: {report.signature or 'no signature'}")
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
        _notes(report, say)
        for rate in (rate for rate in report.rates if rate.group is None and not rate.metric_inside):
            say(f"note: the metric's own {_NAMES[rate.rate]} rate, {share(rate.metric)}, is outside the interval")
    if report.by is not None:
        say(f"\nBy {report.by}")
        say(_groups(report))
        say("outside: the metric's own rate contradicts the labels, corrected for the number of groups (Holm)")
        _differences(report, say)
    if report.transferred:
        labelled = report.calibration or ""
        say(f"\nTrue rates, if the metric is right as often as in {labelled}")
        say(_transferred(report))
    if report.calibration is not None:
        _calibration(report, console)


def _overall(report: RateReport) -> Table:
    made = table("rate", "true", INTERVAL, "metric's own", "labels alone", INTERVAL, "labels", "more to halve")
    for rate in report.rates:
        if rate.group is None:
            more = MISSING if rate.more_to_halve is None else f"{rate.more_to_halve:,}"
            made.add_row(_NAMES[rate.rate], _value(rate), interval((rate.true.low, rate.true.high), share),
                         share(rate.metric), share(rate.labels_alone.value),
                         interval((rate.labels_alone.low, rate.labels_alone.high), share),
                         f"{rate.labels:,}", more)  # fmt: skip
    return made


def _groups(report: RateReport) -> Table:
    made = table("group", "rate", "true", INTERVAL, "metric's own", "outside", "rows", "labels", left=2)
    for rate in report.rates:
        if rate.group is not None:
            made.add_row(rate.group, _NAMES[rate.rate], share(rate.true.value),
                         interval((rate.true.low, rate.true.high), share), share(rate.metric),
                         "" if rate.metric_inside else "yes", f"{rate.rows:,}", f"{rate.labels:,}")  # fmt: skip
    return made


def _value(rate: TrueRate) -> str:
    """The estimate, or both bounds."""
    return share(rate.true.value) if rate.bounds is None else interval(rate.bounds, share)


def _notes(report: RateReport, say: Callable[..., None]) -> None:
    """Bounds, and what rows labelled twice say."""
    if any(rate.bounds is not None for rate in report.rates):
        say(
            "note: labels not_OK do not name a side: the omission and hallucination rates are bounds (none "
            "of these rows, all of them); a gate uses the larger"
        )
    for one in report.agreement:
        say(
            f"{_NAMES[one.rate]}: two annotators agree on {one.agree:,} of {one.rows:,} rows; Krippendorff's alpha "
            f"{number(one.alpha)} ({interval((one.low, one.high))}); an annotator misses about {share(one.miss)} and "
            f"raises a false alarm in {share(one.alarm)}"
        )
    for rate in report.rates:
        if rate.group is None and rate.as_labelled is not None:
            plain = rate.as_labelled
            say(
                f"{_NAMES[rate.rate]}: corrected for these errors; with every label taken as right "
                f"{share(plain.value)} ({interval((plain.low, plain.high), share)})"
            )


def _differences(report: RateReport, say: Callable[..., None]) -> None:
    """The pairs of groups that differ."""
    if not report.differences:
        return
    apart = [one for one in report.differences if one.p < LEVEL]
    say(f"\nDifferences of groups: {len(apart):,} of {len(report.differences):,} pairs differ (Holm, .05)")
    if apart:
        made = table("first", "second", "rate", "difference, points", INTERVAL, "p", left=3)
        for one in apart:
            made.add_row(one.first, one.second, _NAMES[one.rate], points(one.difference),
                         interval((one.low, one.high), points), number(one.p))  # fmt: skip
        say(made)


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
