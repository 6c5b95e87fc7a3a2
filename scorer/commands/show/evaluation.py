"""The tables of a report, for people; the same object that ``--json`` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from ...evaluation.correlation import KINDS
from ...evaluation.labels import BLOCKS
from ...system.display import all_visible
from .console import make_console

_NAMES = {"rough": "ROUGH (not_OK)", "fine": "FINE", "omission": "omission side", "hallucination": "hallucination side"}
WIDTH = 150
_SHORT = {"OK": "OK", "omission": "om", "hallucination": "hal", "omission+hallucination": "om+hal", "not_OK": "not_OK"}


def print_report(report: dict[str, Any], console: Console | None = None) -> None:
    """Print all tables that have something in them."""
    console, report = console or wide_console(), all_visible(report)
    say = console.print
    signature = report["signature"] or "no signature"
    say(f"{report['path']}: {report['rows']:,} rows, {report['errors']['n']:,} with errors")
    say(f"signature: {signature}")
    if report["rough"]["n"]:
        _labels(console, report)
    if report["correlations"]:
        say("\nCorrelations with human scores" + " (95 % intervals over inputs)" * bool(report["resamples"]))
        say(_correlations(report["correlations"]))
    if report["side_validity"]:
        say("\nEach side with the question to raters that it should answer")
        say(_correlations(report["side_validity"]))
    if report["comparisons"]:
        say("\nIs one correlation higher? Difference of correlations, percentile bootstrap over pairs (Wilcox 2009)")
        say(_comparisons(report["comparisons"]))
    if report["ceiling"]:
        say("\nCeiling: one annotator against the mean of the others")
        say(_ceiling(report["ceiling"]))
    if report.get("against"):
        _against(console, report)


def _labels(console: Console, report: dict[str, Any]) -> None:
    say = console.print
    gold = report["gold"]["fine"] or report["gold"]["rough"]
    say(f"\nAgainst {gold}, {report['rough']['n']:,} rows of {report['inputs']:,} inputs")
    table = _table("", "figure", "value", "95 % interval", "n")
    for block, names in BLOCKS.items():
        for name in names if report[block]["n"] else ():
            interval = report[block].get("interval", {}).get(name)
            shown = f"{interval[0]:.3f} – {interval[1]:.3f}" if interval else "-"
            label = _NAMES[block] if name == names[0] else ""
            table.add_row(label, name, _number(report[block][name]), shown, f"{report[block]['n']:,}")
    say(table)
    for block in ("rough", "fine"):
        if report[block]["confusion"]:
            say(f"\nConfusion, {block.upper()}: gold down, predicted across")
            say(_confusion(report[block]["confusion"]))
    parts = {f"strawman: {name}": figures for name, figures in report["strawmen"].items()}
    if "suspect" in report:
        parts |= {"without suspect gold": report["without_suspect"], "suspect gold alone": report["suspect"]}
    if "empty" in report:
        n = report["empty"]["n"]
        parts[f'{n:,} empty outputs read as "nan", as the original did'] = report["empty"]["as_nan"]
        parts[f"without the {n:,} empty outputs"] = report["empty"]["without"]
    say("\nBeside it")
    say(_overview({"ours": report} | parts))
    if report.get("ranking"):
        ranking = report["ranking"]
        say(
            f"low confidence as a sign of not_OK: ROC AUC {_number(ranking['roc_auc'])}, "
            f"average precision {_number(ranking['average_precision'])} (n {ranking['n']:,})"
        )
    for name, found in report.get("triples_correlation", {}).items():
        say(
            f"Spearman of the number of triples with {name.upper()} correctness {_signed(found['correctness'])}, "
            f"with errors {_signed(found['errors'])} (n {found['n']:,})"
        )
    for column, lines in report["by"].items():
        say(f"\nBy {column}")
        say(_overview({str(line["value"]): line for line in lines}))
    if report.get("shares"):
        say("\nShare of each label, predicted (gold)")
        say(_shares(report))
        for rows, found in report["farthest"].items():
            where = "on all rows" if rows == "all" else "without suspect gold"
            points = 100 * found["difference"]
            say(f"farthest from the gold's share of OK, {where}: {found['value']}, {points:+.2f} points")


def _overview(parts: dict[str, dict[str, Any]]) -> Table:
    table = _table("", "n", "Af", "macro-F1", "Ar", "R", "P", "F1", "om F1", "hal F1")
    for name, part in parts.items():
        rough, fine = part["rough"], part.get("fine") or {}
        sides = [(part.get(side) or {}).get("f1") for side in ("omission", "hallucination")]
        values = [fine.get("accuracy"), fine.get("macro_f1")]
        values += [rough[key] for key in ("accuracy", "recall", "precision", "f1")]
        table.add_row(name, f"{rough['n']:,}" if "n" in rough else "", *map(_number, [*values, *sides]))
    return table


def _confusion(matrix: dict[str, dict[str, int]]) -> Table:
    predicted = list(next(iter(matrix.values())))
    table = _table("", *(_SHORT.get(name, name) for name in predicted), "all")
    for gold, line in matrix.items():
        table.add_row(_SHORT[gold], *(f"{n:,}" for n in line.values()), f"{sum(line.values()):,}")
    return table


def _correlations(lines: list[dict[str, Any]]) -> Table:
    table = _table("metric", "human", "level", *KINDS, "n", left=3)
    for line in lines:
        shown = []
        for kind in KINDS:
            interval = line.get("interval", {}).get(kind)
            extra = f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else ""
            shown.append(_signed(line[kind]) + extra)
        table.add_row(line["metric"], line["human"], line["level"], *shown, f"{line['n']:,}")
    return table


def _comparisons(lines: list[dict[str, Any]]) -> Table:
    table = _table("first", "second", "level", "", "difference", "95 % interval", "p", "higher", "n", left=4)
    for line in lines:
        for kind in KINDS:
            found = line[kind]
            if found is None:
                table.add_row(line["first"], line["second"], line["level"], kind, *["-"] * 5)
                continue
            interval = f"{found['low']:+.3f} – {found['high']:+.3f}"
            higher = line[found["higher"]] if found["higher"] else "neither"
            table.add_row(line["first"], line["second"], line["level"], kind, _signed(found["difference"]), interval,
                          f"{found['p']:.3f}", higher, f"{found['n']:,}")  # fmt: skip
    return table


def _ceiling(ceilings: dict[str, dict[str, Any]]) -> Table:
    table = _table("rating", *KINDS, "n")
    for column, found in ceilings.items():
        table.add_row(column, *(_signed(found[kind]) for kind in KINDS), f"{found['n']:,}")
    return table


def _shares(report: dict[str, Any]) -> Table:
    lines, published = report["shares"], (report.get("against") or {}).get("table_12")
    trusted = {line["value"]: line for line in report.get("shares_without_suspect", ())}
    labels = list(lines[0]["gold"])
    beside = ["OK without suspect"] * bool(trusted) + ["Table 12"] * bool(published)
    table = _table("", *(_SHORT[label] for label in labels), *beside, "n")
    for line in sorted(lines, key=lambda line: -line["gold"]["OK"]):
        cells = [_share(line, label) for label in labels]
        if trusted:
            cells.append(_share(trusted[line["value"]], "OK") if line["value"] in trusted else "-")
        if published:
            printed = published.get(str(line["value"]))
            cells.append(" / ".join(f"{printed[label]:.0%}" for label in labels) if printed else "-")
        table.add_row(str(line["value"]), *cells, f"{line['n']:,}")
    return table


def _share(line: dict[str, Any], label: str) -> str:
    return f"{line['predicted'][label]:.1%} ({line['gold'][label]:.1%})"


def _against(console: Console, report: dict[str, Any]) -> None:
    found = report["against"]
    console.print("\nBeside the papers")
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in found["lines"]:
        at = f", OK from {line['threshold']:g}" if line.get("threshold") else ""
        groups.setdefault(f"{line['source']}: {line['row']}{at}", []).append(line)
    for name, lines in groups.items():
        console.print(name)
        table = _table("figure", "published", "ours", "difference", "n")
        for line in lines:
            ours, difference = _number(line["ours"]), _signed(line["difference"])
            table.add_row(line["figure"], f"{line['published']:.3f}", ours, difference, f"{line['n']:,}")
        console.print(table)
    for note in found["notes"]:
        console.print(f"note: {note}")


def wide_console() -> Console:
    """A console on which no figure is cut off: a narrow terminal wraps lines, a pipe gets them whole."""
    return make_console(least_width=WIDTH)


def _table(*headers: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False)
    for position, header in enumerate(headers):
        table.add_column(header, justify="left" if position < left else "right", no_wrap=position >= left)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"
