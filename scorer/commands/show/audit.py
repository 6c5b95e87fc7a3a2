"""The audit on a terminal: the verdict, what changed, the findings, and a table of groups."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ...audit.document import BaselineChanges, Document, GroupFigures, Rate
from ...audit.gates import describe
from ...system.display import all_visible
from .console import make_console
from .figures import INTERVAL, MISSING, interval, kinds, number, points, share, table

MOST_GROUPS = 40
MOST_PREDICATES = 10
MOST_CALLOUTS = 20
MOST_WORSE = 3
MOST_TEXT = 300
WIDTH = 120
_ORDER = ("fail", "warn", "silent", "pass")
_STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red", "silent": "dim", "info": ""}


def print_document(document: Document) -> None:
    """Print a document on stdout. Hidden characters in names from data are shown as code points."""
    document, console = all_visible(document), make_console(least_width=WIDTH)
    _first_lines(console, document)
    _gates(console, document)
    _worse(console, document)
    _callouts(console, document)
    _groups(console, document)
    _predicates(console, document["groups"][0])
    for note in document["notes"]:
        console.print(f"note: {note}")


def _first_lines(console: Console, document: Document) -> None:
    rows, baseline = document["rows"], document["baseline"]
    if document["partial"] is not None:
        console.print(Text.assemble(("PARTIAL", _STYLES["warn"]), f"  {document['partial']}"))
    console.print(Text.assemble(_verdict(document), f"  {document['out']}"))
    console.print(Text(document["headline"]))
    text = f"rows: {rows['in']:,} in, {rows['scored']:,} scored, {rows['reused']:,} reused"
    for what in ("errors", "notes"):
        counts = rows["errors"] if what == "errors" else rows["notes"]
        if counts:
            text += f"; {what}: {kinds(counts)}"
    console.print(text)
    repeated = document["groups"][0]["duplicates"]["repeated"]
    if repeated:
        console.print(f"duplicates: {repeated:,} rows repeat the facts and text of another row")
    console.print(f"signature: {document['signature']}")
    if baseline is not None and document["baseline_changes"] is not None:
        console.print(f"baseline: {baseline['out']}, {_changed(document['baseline_changes'])}")
        if baseline["partial"] is not None:
            console.print(f"  partial: {baseline['partial']}")
        for part in baseline["differs"]:
            console.print(f"  scored differently: {part}")


def _verdict(document: Document) -> tuple[str, str]:
    """The first word and its style. A status that no gate supports is not shown as one."""
    if not document["checked"]["nothing_checked"]:
        return document["status"].upper(), _STYLES[document["status"]]
    return "NOTHING CHECKED", _STYLES["fail" if document["status"] == "fail" else "warn"]


def _changed(changes: BaselineChanges) -> str:
    flips = changes["flips"]
    text = f"{changes['kept']:,} rows kept, {changes['added']:,} added, {changes['removed']:,} removed"
    text += f"; {flips['count']:,} label flips"
    if flips["count"] and flips["beyond_bound"] is not None:
        text += f", {flips['beyond_bound']:,} beyond what the bounds explain"
    return text


def _callouts(console: Console, document: Document) -> None:
    callouts = [one for one in document["callouts"] if one["kind"] != "gate"]
    if callouts:
        console.print("\nFindings")
    for one in callouts[:MOST_CALLOUTS]:
        console.print(Text.assemble((one["severity"], _STYLES[one["severity"]]), f"  {one['message']}"))
        for line in one["evidence"]:
            console.print(f"      {line}")
    if len(callouts) > MOST_CALLOUTS:
        console.print(f"and {len(callouts) - MOST_CALLOUTS} more, in --json and --report")


def _gates(console: Console, document: Document) -> None:
    if document["gates"]:
        console.print("\nGates")
    for gate in sorted(document["gates"], key=lambda gate: _ORDER.index(gate["status"])):
        console.print(Text.assemble((f"{gate['status']:6}", _STYLES[gate["status"]]), f"  {gate['message']}"))


def _worse(console: Console, document: Document) -> None:
    """What a person on call reads after the gates: some rows that were fine, or are new, and fail."""
    worse = document["worse"]
    if worse is None or not worse["flipped"] + worse["added_failing"]:
        return
    console.print(
        f"\nGot worse: {worse['flipped']:,} kept rows and {worse['rewritten']:,} rewritten ones went from OK to "
        f"not_OK; {worse['better']:,} got better; {worse['added_failing']:,} of all added rows are not_OK"
    )
    for row in worse["rows"][:MOST_WORSE]:
        now = row["now"]
        before = f"{row['before']} → " if row["before"] is not None else ""
        name = f"  id {now['id']}" if now["id"] is not None else ""
        console.print(Text(f"  {now['file']}:{now['row']}{name}  {before}{now['kind']}"))
        if row["text_before"] is not None and row["text_before"] != now["text"]:
            console.print(Text(f"      before: {_cut(row['text_before'])}"))
        console.print(Text(f"      now: {_cut(now['text'] or '')}"))
        omitted = [fact["sentence"] or fact["predicate"] for fact in now["facts"] or () if fact["omitted"]]
        if omitted:
            console.print(Text(f"      omitted: {_cut(', '.join(omitted))}"))
    if worse["rows"]:
        console.print(Text(f"  scorer explain {document['out']} --row FILE:N shows every probability of a row"))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."


def _groups(console: Console, document: Document) -> None:
    names = ("rows", "not_OK", INTERVAL, "omission", "hallucination", "error", "empty", "confidence", "since baseline")
    made = table("", *names)
    groups = document["groups"]
    for group in groups[: MOST_GROUPS + 1]:
        rates = group["rates"]
        not_ok = rates["not_ok_rate"]
        others = (rates[name] for name in ("omission_rate", "hallucination_rate", "error_rate", "empty_rate"))
        cells = [f"{group['rows']:,}", share(not_ok["value"]), interval(_ends(not_ok), share)]
        cells += [*(share(rate["value"]) for rate in others), number(group["confidence"]["mean"]), _since(group)]
        made.add_row(Text(describe(group["group"])), *cells)
    console.print()
    console.print(made)
    if len(groups) > MOST_GROUPS + 1:
        console.print(f"and {len(groups) - MOST_GROUPS - 1} more groups, in --json and --report")


def _ends(rate: Rate) -> tuple[float | None, float | None]:
    return rate["low"], rate["high"]


def _since(group: GroupFigures) -> str:
    change = group["change"]
    moved = change["rates"]["not_ok_rate"] if change is not None else None
    if moved is None or moved["difference"] is None:
        return MISSING
    return f"{points(moved['difference'])}{' *' if moved['significant'] else ''}"


def _predicates(console: Console, everything: GroupFigures) -> None:
    predicates = everything["predicates"][:MOST_PREDICATES]
    if not predicates:
        return
    made = table("predicate", "facts", "omitted", "before", "backoff", "")
    for one in predicates:
        shares = (share(value) for value in (one["omission"]["value"], one["before"], one["backoff"]))
        cells = (f"{one['omission']['n']:,}", *shares)
        made.add_row(Text(one["predicate"]), *cells, "looks wrong" if one["suspect"] else "")
    console.print()
    console.print(made)
