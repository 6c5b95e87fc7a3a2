"""The audit as a short page of Markdown, for the summary of a pipeline's step or a message to a channel."""

from __future__ import annotations

from .document import RATES, Document, Gate, RateChange, WorseRow
from .escapes import for_markdown
from .gates import describe, shown

MOST_LINES = 60
_MOST_GATES = 12
_MOST_FINDINGS = 6
_MOST_GROUPS = 8
_MOST_ROWS = 3
_MOST_TEXT = 300
_WORDS = {"pass": "Passed", "warn": "Passed with warnings", "fail": "Failed"}
_GRAVITY = {"fail": 0, "warn": 1, "silent": 2, "pass": 3}


def markdown(document: Document) -> str:
    """The verdict, failed gates, rows that got worse, findings and groups; fewer than :data:`MOST_LINES` lines."""
    lines = [f"## {_verdict(document)}", "", _said(document["headline"]), "", _rows(document)]
    if document["partial"] is not None:
        lines += ["", f"**Partial output**: {_said(document['partial'])}"]
    lines += _gates(document["gates"]) + _worse(document) + _findings(document) + _groups(document)
    return "\n".join(lines[: MOST_LINES - 1]) + "\n"


def _verdict(document: Document) -> str:
    word = "Nothing checked" if document["checked"]["nothing_checked"] else _WORDS[document["status"]]
    return f"{word}: {_said(document['out'])}"


def _rows(document: Document) -> str:
    rows, changes = document["rows"], document["baseline_changes"]
    text = f"{rows['in']:,} rows, {sum(rows['errors'].values()):,} with an error"
    if changes is not None:
        text += f"; since the baseline {changes['added']:,} added, {changes['removed']:,} removed"
        text += f", {changes['kept']:,} kept, {changes['flips']['count']:,} with another label"
    return text + "."


def _gates(gates: list[Gate]) -> list[str]:
    if not gates:
        return []
    ordered = sorted(gates, key=lambda gate: _GRAVITY[gate["status"]])
    loud = [gate for gate in ordered if gate["status"] in ("fail", "warn")]
    lines = ["", "### Gates", ""]
    lines += [f"- **{gate['status']}** {_said(gate['message'])}" for gate in loud[:_MOST_GATES]]
    rest = [f"{len(loud) - _MOST_GATES} more fail or warn"] if len(loud) > _MOST_GATES else []
    for status in ("pass", "silent"):
        count = sum(gate["status"] == status for gate in gates)
        rest += [f"{count} {status}"] if count else []
    return lines + ([f"- {', '.join(rest)}"] if rest else [])


def _worse(document: Document) -> list[str]:
    worse = document["worse"]
    if worse is None or not worse["flipped"] + worse["added_failing"]:
        return []
    lines = ["", "### What got worse", ""]
    lines += [
        f"{worse['flipped']:,} kept rows and {worse['rewritten']:,} rewritten ones went from OK to not OK; "
        f"{worse['better']:,} got better. {worse['added_failing']:,} of all added rows are not OK.",
        "",
    ]
    return lines + [line for row in worse["rows"][:_MOST_ROWS] for line in _row(row)]


def _row(row: WorseRow) -> list[str]:
    now = row["now"]
    omitted = [(fact["sentence"] or fact["predicate"]).rstrip(".") for fact in now["facts"] or () if fact["omitted"]]
    before = f"{row['before']} → " if row["before"] is not None else ""
    lines = [f"- {_said(now['file'])}:{now['row']} {_said(before + now['kind'])}"]
    if row["text_before"] is not None and row["text_before"] != now["text"]:
        lines.append(f"  - before: {_said(row['text_before'])}")
    lines.append(f"  - now: {_said(now['text'] or '(no text)')}")
    if omitted:
        lines.append(f"  - omitted: {_said('; '.join(omitted))}")
    return lines


def _findings(document: Document) -> list[str]:
    found = [callout for callout in document["callouts"] if callout["kind"] != "gate" and callout["severity"] != "info"]
    if not found:
        return []
    lines = ["", "### Findings", ""]
    lines += [f"- {_said(callout['message'])}" for callout in found[:_MOST_FINDINGS]]
    return lines + ([f"- and {len(found) - _MOST_FINDINGS} more"] if len(found) > _MOST_FINDINGS else [])


def _groups(document: Document) -> list[str]:
    lines = ["", "| | rows | not_OK | omission | hallucination | since baseline |", "|---|---|---|---|---|---|"]
    for group in document["groups"][: _MOST_GROUPS + 1]:
        rates = [shown(name, group["rates"][name]["value"]) for name in RATES[:3]]
        change = group["change"]
        since = _since(change["rates"]["not_ok_rate"]) if change is not None else "-"
        lines.append(f"| {_said(describe(group['group']))} | {group['rows']:,} | {' | '.join(rates)} | {since} |")
    rest = len(document["groups"]) - _MOST_GROUPS - 1
    return lines + (["", f"{rest} more groups are in the report."] if rest > 0 else [])


def _since(change: RateChange) -> str:
    return shown("not_ok_rate", change["difference"], signed=True) + (" (significant)" if change["significant"] else "")


def _said(text: str) -> str:
    return for_markdown(text, _MOST_TEXT)
