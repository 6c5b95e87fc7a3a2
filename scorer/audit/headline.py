"""The headline of an audit: its findings and figures in one to three sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ..system.numbers import percent
from .document import Checked, Finding, GroupFigures
from .findings import LEAST_DIFFERENCE, MOST_NAMED, name_of
from .gates import reason_for_nothing

_OF_SIZES = ("rows", "repeated", "mix")


def headline(
    groups: Sequence[GroupFigures], findings: Sequence[Finding], checked: Checked, best: str | None = None
) -> str:
    """The result in one to three sentences.

    Args:
        groups: groups as in the document, all rows first.
        findings: findings, the most severe first.
        checked: whether anything was checked.
        best: sentence on the best group, of an audit without gates and baseline.
    """
    all_rows = groups[0]
    if not all_rows.rows:
        return _no_rows(groups)
    sentences = [reason_for_nothing(checked)] if checked.nothing_checked and (checked.gates or checked.required) else []
    sizes = _sizes_changed(groups, findings)
    share = all_rows.rates["not_ok_rate"]
    if share.value is None:
        return " ".join([*sentences, *sizes, f"{all_rows.rows:,} rows, none of which counts for the not_OK rate."])
    level = f"{percent(share.value)} of {share.n:,} rows are not OK"
    changed = [finding for finding in findings if finding.kind == "changed"]
    if any(finding.kind == "mix" for finding in findings):  # which says what happened to all rows
        changed = [finding for finding in changed if finding.group or finding.severity == "fail"]
    trend = next(
        (finding for finding in sorted(findings, key=lambda finding: not finding.group) if finding.kind == "trend"),
        None,
    )
    if not changed and trend is not None:
        quality = f"{trend.message}; {level}."
    elif changed:
        further = sum(bool(finding.group) for finding in changed[1:])
        suffix = f"; {further} more {'group' if further == 1 else 'groups'} got worse" if further else ""
        quality = f"{changed[0].message}{suffix}."
    elif better := next((finding for finding in findings if finding.kind == "improved"), None):
        quality = f"{better.message}; {level}."
    elif best is not None:
        quality = best
    elif all_rows.change is not None:
        quality = f"No rate rose significantly; {level}."
    else:
        highest = next((group for group in groups[1:] if group.rates["not_ok_rate"].value), None)
        rate = percent(highest.rates["not_ok_rate"].value or 0.0) if highest is not None else ""
        quality = f"{level}{f', most of {name_of(highest.group)}: {rate}' if highest is not None else ''}."
    fails = bool(changed) and changed[0].severity == "fail"
    sizes_fail = any(finding.severity == "fail" for finding in findings if finding.kind in _OF_SIZES)
    quality += f" {trend.message}." if changed and trend is not None else ""
    return " ".join([*sentences, *([quality, *sizes] if fails and not sizes_fail else [*sizes, quality])])


def _no_rows(groups: Sequence[GroupFigures]) -> str:
    """Sentence on an empty output, with the rows of its groups in the baseline."""
    of_first = [group for group in groups[1:] if group.grouping == groups[1].grouping] or list(groups)
    sizes = [(name_of(group.group), group.change.rows_before) for group in of_first if group.change is not None]
    sizes = sorted((size for size in sizes if size[1]), key=lambda size: (-size[1], size[0]))
    if not sizes:
        return "No rows."
    names = [name for name, _ in sizes[:MOST_NAMED]]
    names += [f"{len(sizes) - MOST_NAMED} more"] if len(sizes) > MOST_NAMED else []
    if len({rows for _, rows in sizes}) == 1:
        all_but_last = ", ".join(names[:-1])
        listed = f"{all_but_last} and {names[-1]}" if all_but_last else names[-1]
        return f"No rows: {listed} had {sizes[0][1]:,}{' each' if len(sizes) > 1 else ''}."
    return f"No rows: {', '.join(f'{name} had {rows:,}' for name, rows in sizes[:MOST_NAMED])}."


def _sizes_changed(groups: Sequence[GroupFigures], findings: Sequence[Finding]) -> list[str]:
    """Sentences on numbers of rows: the total, the groups that lost most, repeated rows, a mix that moved a rate."""
    mix = next((finding.message for finding in findings if finding.kind == "mix"), None)
    repeats = [finding.message for finding in findings if finding.kind == "repeated" and finding.severity != "info"]
    moved = [finding for finding in findings if finding.kind == "rows" and finding.severity != "info"]
    total = next((finding.message.removeprefix("all rows: ") for finding in moved if not finding.group), None)
    sentence_parts = [*([total] if total is not None else []), *repeats]
    if not repeats and (total is not None or mix is None):
        losses = [(rows, group.group) for group in groups if (rows := _rows_lost(group, groups[0])) is not None]
        by_loss = [group for _, group in sorted(losses, key=lambda loss: -loss[0])]
        largest_losses = [finding for finding in moved if finding.group in by_loss and finding.group]
        sentence_parts += [
            finding.message
            for finding in sorted(largest_losses, key=lambda finding: by_loss.index(finding.group))[:MOST_NAMED]
        ]
    sentences = [sentence_parts, [mix] if mix is not None and not repeats else []]
    return [f"{'; '.join(sentence)}." for sentence in sentences if sentence]


def _rows_lost(group: GroupFigures, all_rows: GroupFigures) -> int | None:
    """The number of rows that a group lost; ``None`` where its size changed in proportion to all rows."""
    change, change_of_all = group.change, all_rows.change
    if change is None or change_of_all is None:
        return None
    of_group, ratio_of_all = group.rows / max(1, change.rows_before), all_rows.rows / max(1, change_of_all.rows_before)
    return change.rows_before - group.rows if abs(of_group - ratio_of_all) >= LEAST_DIFFERENCE else None
