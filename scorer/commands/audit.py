"""``scorer audit``: report on an output, compare it with an earlier one, and apply gates; ``scorer gates init`` writes
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..audit import AuditOptions
from ..errors import UsageError
from ..storage.location import Location
from ..system.arguments import option
from .console import INTERVAL, MISSING, WIDTH, interval, kinds, number, points, print_result, say, share, table
from .ending import App
from .options import BY, JSON, FinishedArgument, local, location, written, written_parquet

if TYPE_CHECKING:
    from rich.console import Console

    from ..audit.document import Document, GroupComparison, GroupFigures, WorseRow

MOST_GROUPS, MOST_FINDINGS = 40, 20
STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red", "none": "bold", "silent": "dim", "info": "default"}


gates_app = App(help="Write the gates of an audit.")


def audit_command(
    out: FinishedArgument,
    options: AuditOptions,
    baseline: tuple[Location, ...] = option(
        "Output to compare with; exits 2 if its signature differs. Repeatable, for parts.", "OUT0", (), parser=location
    ),
    gates: tuple[Path, ...] = option(
        "Gates (TOML); exits 1 if one fails, 2 if one is invalid. Repeatable.", "FILE", (), parser=local, variable=True
    ),
    by: tuple[tuple[str, ...], ...] = BY,
    report: Path | None = option("Write the report to one HTML file.", "FILE", None, parser=written),
    as_json: bool = JSON,
    junit: Path | None = option("Write the gates as JUnit XML, for CI servers.", "FILE", None, parser=written),
    summary: Path | None = option(
        "Write a Markdown page of under 60 lines, for the step summary of a pipeline.", "FILE", None, parser=written
    ),
    metrics: Path | None = option(
        "Write Prometheus metrics for the textfile collector, atomically.", "FILE", None, parser=written
    ),
    history: Path | None = option(
        "Parquet file to append this run to; created if missing.", "FILE", None, parser=written_parquet
    ),
) -> None:
    """Report on a run, compare it with a baseline, apply gates.

    Exit codes: 0 all gates pass, warn or are silent; 1 a gate failed, or nothing was checked with --require-gates; 2
    usage or configuration, or an output that is unfinished, changes during the audit, or cannot be compared (another
    signature, or only one is partial).
    """
    from ..audit import report as rendering
    from ..storage.user_files import write_user_file

    document = _audited(out, baseline, replace(options, gates=gates, by=by, history=history))
    for name, path, render in (
        ("--report", report, rendering.render),
        ("--junit", junit, rendering.junit),
        ("--summary", summary, rendering.markdown),
        ("--metrics", metrics, rendering.metrics),
    ):
        if path is not None:
            write_user_file(path, render(document).encode("utf-8", "replace"), name)
    print_result(document, as_json, print_document, least_width=WIDTH)
    failed = [gate for gate in document.gates if gate.status == "fail"]
    if document.status == "fail":
        nothing = "nothing was checked, and --require-gates is set"
        say(f"scorer: {f'{len(failed)} of {len(document.gates)} gates failed' if failed else nothing}", always=True)
        raise typer.Exit(1)


def _audited(outs: Sequence[Location], baseline: Sequence[Location], options: AuditOptions) -> Document:
    """The audit; what is in an object store is copied for it, and named by its URI."""
    from ..audit import audit
    from ..storage.finished_output import local_outputs

    remote, remote_before = ([str(out) for out in given if not isinstance(out, Path)] for given in (outs, baseline))
    if {*remote} & {*remote_before}:
        raise UsageError(f"--baseline {remote[0]} is the output itself; pass the output of an earlier run")
    with local_outputs(outs) as folders, local_outputs(baseline) as earlier:
        document = audit(folders, replace(options, baseline=earlier or None))
    if remote:
        document.out = ", ".join(remote)
    if remote_before and document.baseline is not None:
        document.baseline.out = ", ".join(remote_before)
    return document


@gates_app.command("init")
def init_command(
    out: FinishedArgument,
    gates: Path = option("File for gates on values; must not exist.", "FILE", Path("gates.toml"), parser=written),
    changes: Path = option(
        "File for gates that need a baseline; must not exist.", "FILE", Path("changes.toml"), parser=written
    ),
    by: tuple[tuple[str, ...], ...] = BY,
) -> None:
    """Write gates files that suit an output.

    Limits follow from the rates of OUT and the sizes of its groups; a comment at each names the smallest increase that
    it finds. Change them to what is acceptable for your data. Gates that need a baseline are in a file of their own,
    because the first run has none.
    """
    from ..audit import AuditOptions, audit
    from ..audit.suggest import change_gates, value_gates
    from ..storage.finished_output import local_outputs
    from ..storage.user_files import write_user_file

    targets = ((gates, "--gates", value_gates), (changes, "--changes", change_gates))
    for path, name, _ in targets:
        if path.exists() or path.is_symlink():
            raise UsageError(f"{name} {path} exists; remove it, or name another file")
    with local_outputs(out) as folders:
        document = audit(folders, AuditOptions(by=by, worst=0))
    for path, name, content in targets:
        write_user_file(path, content(document).encode("utf-8", "replace"), name)
        say(f"wrote {path}")


def print_document(console: Console, document: Document) -> None:
    """Print a document: the verdict, findings with rows, gates, and a table of groups."""
    from ..audit.report import verdict

    rows, changes, baseline, worse = document.rows, document.baseline_changes, document.baseline, document.worse
    style, words = verdict(document)
    if document.partial is not None:
        _line(console, "PARTIAL", "yellow", document.partial)
    title = words if document.checked.nothing_checked else document.status
    _line(console, title.upper(), STYLES[style], document.out)
    console.print(document.headline)
    more = [f"; {what}: {kinds(counts)}" for what, counts in (("errors", rows.errors), ("notes", rows.notes)) if counts]
    console.print(f"rows: {rows.all:,} in, {rows.scored:,} scored, {rows.reused:,} reused{''.join(more)}")
    console.print(f"signature: {document.signature}")
    if changes is not None and baseline is not None:
        moved = f"{changes.kept:,} rows kept, {changes.added:,} added, {changes.removed:,} removed"
        console.print(f"baseline: {baseline.out}, {moved}; {changes.flips.count:,} label flips")
        if baseline.partial is not None:
            console.print(f"  partial: {baseline.partial}")
        for part in baseline.differs:
            console.print(f"  scored differently: {part}")
    if document.findings:
        console.print("\nFindings")
    for one in document.findings[:MOST_FINDINGS]:
        _line(console, one.severity, STYLES[one.severity], one.message)
        for line in one.evidence:
            console.print(f"      {line}")
        for row in one.rows:
            _print_row(console, row)
    if len(document.findings) > MOST_FINDINGS:
        console.print(f"and {len(document.findings) - MOST_FINDINGS} more, in --json and --report")
    if worse is not None and worse.flipped + worse.rewritten + worse.added_failing:
        moved = f"{worse.flipped:,} kept rows and {worse.rewritten:,} rewritten ones went from OK to not_OK"
        added = f"{worse.added_failing:,} of all added rows are not_OK"
        console.print(f"\nGot worse: {moved}; {worse.better:,} got better; {added}")
        for row in [] if any(one.rows for one in document.findings) else worse.rows[:3]:
            _print_row(console, row)
        if worse.rows:
            console.print(f"  scorer explain {document.out} --row FILE:N shows every probability of a row")
    if document.gates:
        console.print("\nGates")
    for gate in sorted(document.gates, key=lambda gate: ("fail", "warn", "silent", "pass").index(gate.status)):
        _line(console, f"{gate.status:6}", STYLES[gate.status], gate.message)
    _print_groups(console, document.groups)
    if document.comparison is not None:
        _print_comparison(console, document.comparison)
    for note in document.notes:
        console.print(f"note: {note}")


def _line(console: Console, word: str, style: str, text: str) -> None:
    console.print(word, style=style, end="")
    console.print(f"  {text}")


def _print_row(console: Console, row: WorseRow) -> None:
    """A row that got worse, with its texts before and now."""
    now = row.now
    name = f"  id {now.id}" if now.id is not None else ""
    console.print(f"      {now.file}:{now.row}{name}  {f'{row.before} → ' if row.before else ''}{now.kind}")
    if row.text_before is not None and row.text_before != now.text:
        console.print(f"          before: {_shortened(row.text_before)}")
    console.print(f"          now: {_shortened(now.text or '')}")
    omitted = [_shortened(fact.sentence or fact.predicate) for fact in now.facts or () if fact.omitted]
    if omitted:
        console.print(f"          omitted: {', '.join(omitted[:8])}")


def _shortened(text: str, most: int = 300) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


def _print_groups(console: Console, groups: Sequence[GroupFigures]) -> None:
    from rich.text import Text

    from ..audit.document import describe

    names = ("rows", "not_OK", INTERVAL, "omission", "hallucination", "error", "empty", "confidence", "since baseline")
    made = table("", *names)
    for group in groups[: MOST_GROUPS + 1]:
        not_ok, *others = group.rates.values()
        moved = group.change.rates["not_ok_rate"] if group.change is not None else None
        known = moved is not None and moved.difference is not None
        since = f"{points(moved.difference)}{' *' if moved.significant else ''}" if moved and known else MISSING
        cells = [f"{group.rows:,}", share(not_ok.value), interval((not_ok.low, not_ok.high), share)]
        cells += [*(share(rate.value) for rate in others), number(group.confidence.mean), since]
        made.add_row(Text(describe(group.group)), *cells)
    console.print()
    console.print(made)
    if len(groups) > MOST_GROUPS + 1:
        console.print(f"and {len(groups) - MOST_GROUPS - 1} more groups, in --json and --report")


def _print_comparison(console: Console, found: GroupComparison) -> None:
    from ..audit.document import describe

    pairs = f"{found.pairs:,} pairs of texts for the same input"
    console.print(f"\n{describe(found.first)} against {describe(found.second)}: {pairs}")
    made = table("rate", "first", "second", "difference", INTERVAL, "p")
    for name, one in found.rates.items():
        made.add_row(name.removesuffix("_rate"), share(one.first.value), share(one.second.value),
                     points(one.difference), interval((one.low, one.high), points), number(one.p))  # fmt: skip
    console.print(made)
