"""Tables of an evaluation: all metrics, and the confidence as a probability."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ...evaluation.label_report import CalibrationBlock, Estimate, MetricLine
from .figures import INTERVAL, interval, number, share, signed, table

_KNOWN = {True: "yes", False: "no", None: "?"}


def print_metrics(console: Console, lines: Sequence[MetricLine]) -> None:
    """Print the metrics for each rating: those that see no references first, the others apart from them."""
    for human in dict.fromkeys(line["human"] for line in lines):
        for references, title in ((False, "without references"), (True, "with references"), (None, "others")):
            chosen = [line for line in lines if line["human"] == human and line["references"] is references]
            if not chosen:
                continue
            console.print(f"\nSpearman with {human}, metrics {title} (95% intervals); n: rows / inputs / systems")
            made = table("metric", "trained here", "pooled", "with empty", "within inputs", "by system", "n")
            for line in chosen:
                estimates = (line["pooled"], line["pooled_with_empty"], line["within"], line["system"])
                made.add_row(
                    line["metric"],
                    _KNOWN[line["trained"]],
                    *map(_shown, estimates),
                    " / ".join(f"{line[level]['n']:,}" for level in ("pooled", "within", "system")),
                )
            console.print(made)


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
    made = table("", "as it is", INTERVAL, "calibrated", INTERVAL)
    ends = block["interval"]
    made.add_row("expected calibration error", number(block["error"]), interval(ends["error"]),
                 number(block["calibrated_error"]), interval(ends.get("calibrated_error")))  # fmt: skip
    made.add_row("Brier score", number(block["brier"]), interval(ends["brier"]),
                 number(block["calibrated_brier"]), interval(ends.get("calibrated_brier")))  # fmt: skip
    console.print(made)
    console.print("calibrated: isotonic regression on other inputs, in five folds")


def _shown(found: Estimate) -> str:
    ends = found["interval"]
    return signed(found["value"]) + (f" ({interval(ends, signed)})" if ends else "")
