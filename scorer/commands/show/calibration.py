"""The reliability of a confidence, from an evaluation report."""

from __future__ import annotations

from rich.console import Console

from ...evaluation.label_report import CalibrationBlock
from .figures import INTERVAL, interval, number, share, table


def print_calibration(console: Console, block: CalibrationBlock) -> None:
    """Print how often rows of each confidence are OK, before and after isotonic regression."""
    console.print(f"\nThe confidence as the probability of OK, {block['n']:,} rows of {block['inputs']:,} inputs")
    made = table("confidence", "n", "mean", "OK by the gold", INTERVAL, "calibrated")
    for line in block["lines"]:
        made.add_row(
            interval((line["low"], line["high"]), lambda end: number(end, 1)),
            f"{line['n']:,}",
            number(line["confidence"]),
            share(line["ok"]),
            interval(line["interval"], share),
            number(line["calibrated"]),
        )
    console.print(made)
    made = table("", "as it is", "calibrated")
    made.add_row("expected calibration error", number(block["error"]), number(block["calibrated_error"]))
    made.add_row("Brier score", number(block["brier"]), number(block["calibrated_brier"]))
    console.print(made)
    console.print("calibrated: isotonic regression on other inputs, in five folds")
