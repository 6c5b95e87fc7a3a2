"""Findings: groups that changed, in which rate, and everything else that a reader should look at.

A group that changed is one finding, however many gates and tests report it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from ..inference import BUILTIN_BUNDLES
from ..metric import OTHER_LANGUAGE
from ..metric.verdict import BY_SENTENCES, UNKNOWN_TOKENS
from ..scoring.output_columns import spelled
from ..scoring.outputs import Output
from ..storage.receipts import line_parts
from ..system.numbers import percent
from . import queries
from .database import Grouping
from .document import (
    ADDED_RATES,
    LEAST_ROWS_OF_INDEX,
    RATES,
    Baseline,
    BaselineChanges,
    BundleShown,
    Finding,
    Gate,
    Group,
    GroupFigures,
    Rate,
    RateChange,
    Repeated,
    Severity,
    TemplatesShown,
)
from .gates import format_figure, format_span
from .scan import ScannedRun

LEAST_DIFFERENCE = 0.01
"""A significant difference of a rate is a finding from one percentage point on."""
LEAST_SHIFT = 0.1
"""A significant drift of confidence is a finding from this stability index on."""
WORDS = dict(zip(RATES, ("not OK", "omission", "facts said wrongly", "hallucination", "error", "no text"), strict=True))
MOST_FLIPS_SHOWN = 5
MUCH, LEAST_ROWS = 0.5, 50
"""Without a gate, so much of a change of a number of rows is a finding, of a group of so many rows in one run."""
MOST_NAMED = 3
_GRAVITY = ("fail", "warn", "info")
_ORDER = ("repeated", "rows", "mix", "changed", "trend", "gate", "signature", "flips", "template", "backoff", "tokens",
          "language", "drift", "bundle", "errors", "improved")  # fmt: skip


def all_findings(
    gates: Sequence[Gate],
    groups: Sequence[GroupFigures],
    baseline: Baseline | None,
    changes: BaselineChanges | None,
    other_findings: Sequence[Finding],
) -> list[Finding]:
    """All findings of an audit, the most severe first. ``other_findings``: findings of templates and the bundle."""
    alerts = [gate for gate in gates if gate.status in ("fail", "warn")]
    changed = [finding for group in groups for finding in (*_changed(group, alerts), *_rows_moved(group, alerts))]
    changed += _trends(alerts)
    explained = {message for finding in changed for message in finding.gates}
    findings = [*other_findings, *changed]
    for gate in alerts:
        if gate.message not in explained:
            findings.append(Finding(kind="gate", severity=_severity([gate]), message=gate.message, group=gate.group))
    if baseline is not None and changes is not None:
        findings += _of_baseline(baseline, changes)
    for group in groups:
        findings += _of_group(group)
    if groups:
        findings += [*_of_all_rows(groups[0]), *_other_language(groups), *_mix(groups[0])]
    return sorted(
        findings, key=lambda finding: (_GRAVITY.index(finding.severity), _ORDER.index(finding.kind), not finding.group)
    )


def name_of(group: Group) -> str:
    """The label of a group: its values, without column names."""
    return ", ".join(spelled(value) for value in group.values()) or "all rows"


def _severity(gates: Sequence[Gate]) -> Severity:
    """Severity of a finding that gates report; a warning without gates."""
    return "fail" if any(gate.status == "fail" for gate in gates) else "warn"


def _changed(group: GroupFigures, gates: Sequence[Gate]) -> list[Finding]:
    """At most one finding: the group got worse or better."""
    of_group = [gate for gate in gates if gate.group == group.group and gate.reason is None]
    rate_gates = [gate for gate in of_group if gate.metric in (*RATES, *ADDED_RATES) and gate.against != "history"]
    rates = group.change.rates if group.change is not None else {}
    moved = [(name, rate, _difference(group, name)) for name, rate in rates.items() if rate.significant]
    moved = [(name, rate, rise) for name, rate, rise in moved if abs(rise) >= LEAST_DIFFERENCE]
    rises = [(name, rate, rise) for name, rate, rise in moved if rise > 0]
    evidence = [_moved(name, rate) for name, rate, _ in rises or moved]
    if rate_gates or rises:
        message, predicate = _what_changed(group, rate_gates, {name for name, _, _ in rises})
        return [
            Finding(kind="changed", severity=_severity(rate_gates), group=group.group, message=message,
                    predicate=predicate, gates=[gate.message for gate in rate_gates], evidence=evidence)
        ]  # fmt: skip
    if moved:
        message = f"{name_of(group.group)}: {_counts(*moved[0][:2])}"
        return [Finding(kind="improved", severity="info", group=group.group, message=message, evidence=evidence)]
    return []


def _difference(group: GroupFigures, name: str) -> float:
    """The rise of a rate; of all rows, at the baseline's mix of groups."""
    if group.change is None:
        return 0.0
    if group.change.mix is not None and name in group.change.mix.figures:
        return group.change.mix.figures[name].difference
    return group.change.rates[name].difference or 0.0


def _what_changed(group: GroupFigures, gates: Sequence[Gate], risen: Set[str]) -> tuple[str, str | None]:
    """The change of a group in a sentence, and the predicate that accounts for it.

    Args:
        gates: gates on rates that warn or fail; the sentence is about the new texts where all gates are, and no rate of
            all rows has risen.
        risen: rates over all rows of the group that rose significantly.
    """
    name, change = name_of(group.group), group.change
    if change is not None and {gate.metric for gate in gates} | risen == {"contradicted_rate"}:
        return f"{name}: {_counts('contradicted_rate', change.rates['contradicted_rate'])}", None
    if change is None or not change.rows_before:
        return f"{name}: {_of(group.rates['not_ok_rate'])} rows are not OK", None
    if gates and not risen and all(gate.metric in ADDED_RATES for gate in gates):
        added, word = change.added_rates[gates[0].metric], WORDS[gates[0].metric.removeprefix("added_")]
        rows = "" if added.compared_with == "removed" else " rows"
        return f"{name}: {word} in {_of(added.added)} new texts, before in {_of(added.before)}{rows}", None
    increase = {key: _extra(rate.before, rate.after) for key, rate in change.rates.items()}
    half = increase["not_ok_rate"] / 2
    worst = max(group.predicates, key=lambda predicate: _extra(predicate.before, predicate.omission), default=None)
    if worst is not None and worst.before is not None and _extra(worst.before, worst.omission) >= max(2, half):
        fact = repr(worst.sentence) if worst.sentence is not None else worst.predicate
        text = f"{fact} omitted in {_of(worst.omission)}, before in {_of(worst.before)}"
        return f"{name}: {text}", worst.predicate
    kinds = ("hallucination_rate", "omission_rate", "error_rate", "empty_rate")
    kind = max(kinds, key=increase.__getitem__)
    kind = kind if increase[kind] >= half > 0 else "not_ok_rate"
    mixed = change.mix.figures.get(kind) if change.mix is not None else None
    if mixed is not None and abs(mixed.difference - (change.rates[kind].difference or 0.0)) >= LEAST_DIFFERENCE:
        at_mix = format_figure(kind, mixed.difference, signed=True)
        return f"{name}: {WORDS[kind]} in {_of(change.rates[kind].after)} rows, {at_mix} at the earlier mix", None
    return f"{name}: {_counts(kind, change.rates[kind])}", None


def _extra(before: Rate | None, after: Rate) -> float:
    """Hits beyond those of the earlier rate."""
    return after.count - after.n * before.count / before.n if before is not None and before.n else 0.0


def _of(rate: Rate) -> str:
    return f"{rate.count:,} of {rate.n:,}"


def _counts(name: str, moved: RateChange) -> str:
    return f"{WORDS[name]} in {_of(moved.after)} rows, before in {_of(moved.before)}"


def _moved(name: str, moved: RateChange) -> str:
    interval = format_span(name, moved.low or 0.0, moved.high or 0.0, signed=True)
    test = f"; corrected p {moved.test.q:.2g}" if moved.test is not None else ""
    return f"{WORDS[name]} {format_figure(name, moved.difference, signed=True)}, {interval}{test}"


def _of_baseline(baseline: Baseline, changes: BaselineChanges) -> Iterator[Finding]:
    """Another signature, labels of unchanged rows that differ, and errors that appeared in them."""
    flips, errors = changes.flips, changes.errors_appeared
    if not baseline.same_signature:
        text = "the baseline was scored differently: a difference may come from the data or from the scoring"
        yield Finding(kind="signature", severity="warn", message=text, evidence=baseline.differs)
    elif flips.count:
        lines = [f"{flip.file}:{flip.row} {flip.before} → {flip.after}" for flip in flips.rows[:MOST_FLIPS_SHOWN]]
        text = f"{flips.count:,} unchanged rows have another label"
        yield Finding(kind="flips", severity="warn", message=text, evidence=lines)
    if errors:
        text = f"{errors:,} unchanged rows had a label in the baseline and have an error now"
        yield Finding(kind="errors", severity="warn", message=text)


def _of_group(group: GroupFigures) -> Iterator[Finding]:
    """Findings of a group that is new, or has drifted confidences."""
    change, name = group.change, name_of(group.group)
    if change is None:
        return
    if group.group and not change.rows_before:
        yield Finding(kind="rows", severity="info", message=f"{name} is new: {group.rows:,} rows", group=group.group)
    after, before, psi = group.confidence, change.confidence.before, change.confidence.psi
    if psi is not None and psi >= LEAST_SHIFT and min(after.n, before.n) >= LEAST_ROWS_OF_INDEX:
        text = f"{name}: confidences drifted, mean {before.mean:.3f} to {after.mean:.3f}"
        lines = [f"population stability index {psi:.2f}"]
        yield Finding(kind="drift", severity="warn", message=text, evidence=lines, group=group.group)


def _rows_moved(group: GroupFigures, gates: Sequence[Gate]) -> Iterator[Finding]:
    """Finding of a group that has far more or fewer rows, or none any more."""
    change, row_gates = group.change, [gate for gate in gates if gate.metric == "rows" and gate.group == group.group]
    if change is None or not change.rows_before:
        return
    is_missing, share = group.group and not group.rows, abs(group.rows - change.rows_before) / change.rows_before
    if row_gates or is_missing or (share >= MUCH and max(group.rows, change.rows_before) >= LEAST_ROWS):
        text = f"{name_of(group.group)}: {group.rows:,} rows, before {change.rows_before:,}"
        if is_missing:
            text = f"{name_of(group.group)} has no rows in this run, {change.rows_before:,} in the baseline"
        messages = [gate.message for gate in row_gates]
        yield Finding(kind="rows", severity=_severity(row_gates), message=text, group=group.group, gates=messages)


def _trends(gates: Sequence[Gate]) -> list[Finding]:
    """Findings of rates of the history that rose, one for each group."""
    trends: dict[tuple[str, ...], Finding] = {}
    for gate in gates:
        if gate.against != "history" or gate.reason is not None:
            continue
        since = f", visible since {gate.since[:10]}" if gate.since is not None else ""
        after, before = (format_figure(gate.metric, value) for value in (gate.now, gate.before))
        word = WORDS[gate.metric]
        text = f"{name_of(gate.group)}: {word} in {after} of the new rows of weeks, before in {before}{since}"
        trend = trends.setdefault(tuple(map(str, gate.group.items())), Finding(
            kind="trend", severity=_severity([gate]), message=text, group=gate.group, evidence=[gate.message],
        ))  # fmt: skip
        trend.gates.append(gate.message)
    return list(trends.values())


def _mix(all_rows: GroupFigures) -> Iterator[Finding]:
    """Finding of groups of other sizes that moved a rate of all rows."""
    mix = all_rows.change.mix if all_rows.change is not None else None
    if mix is None or all_rows.change is None or mix.distance < LEAST_DIFFERENCE:
        return
    lines, moved = [], False
    for name, at_mix in mix.figures.items():
        crude = all_rows.change.rates[name].difference if name in RATES else None
        if crude is not None:
            moved |= abs(crude - at_mix.difference) >= LEAST_DIFFERENCE
            by_itself = format_figure(name, at_mix.difference, signed=True)
            lines.append(
                f"{WORDS[name]} {by_itself} at the earlier mix, {format_figure(name, crude, signed=True)} as it is"
            )
    if moved:
        sizes = [
            f"{name_of(group.group)} {group.before:,} → {group.now:,}"
            for group in mix.groups
            if group.before != group.now
        ]
        further = f" and {len(sizes) - MOST_NAMED} more" if len(sizes) > MOST_NAMED else ""
        text = f"The mix of {', '.join(mix.grouping)} changed: {', '.join(sizes[:MOST_NAMED])}{further}"
        rate = format_figure("not_ok_rate", mix.figures["not_ok_rate"].difference, signed=True)
        yield Finding(kind="mix", severity="warn", message=f"{text}; at the earlier mix, not OK {rate}", evidence=lines)


def repeated_rows(run: ScannedRun, earlier: ScannedRun | None, grouping: Grouping) -> tuple[Repeated, list[Finding]]:
    """Rows that occur several times within a group, and a finding where that is new."""
    repeats, rows = queries.repeated(run, grouping), len(run)
    before = queries.repeated(earlier, grouping) if earlier is not None else None
    increase = repeats.rows - (before.rows if before is not None else 0)
    if increase < max(1, LEAST_DIFFERENCE * rows):
        return repeats, []
    text = f"{repeats.keys:,} rows are there {'twice' if repeats.most == 2 else f'up to {repeats.most:,} times'}"
    lines = [f"{repeats.rows:,} of {rows:,} rows repeat another one (row_key)"]
    lines += [f"in the baseline: {before.rows:,}"] if before is not None else []
    severity: Severity = "warn" if before is not None else "info"
    return repeats, [Finding(kind="repeated", severity=severity, message=text, evidence=lines)]


def _without_templates(all_rows: GroupFigures, backoff: Rate) -> str:
    """Advice about facts without a template; empty where most facts have one, or most rows are OK."""
    not_ok, is_majority = all_rows.rates.get("not_ok_rate"), 2 * backoff.count > backoff.n
    if is_majority and not_ok is not None and 2 * not_ok.count > not_ok.n:
        share = format_figure("backoff_rate", backoff.count / backoff.n)
        return (
            f"{share} of the facts have no template, and more than half of the rows are not OK: `scorer templates try` "
            "shows which facts fail, and proposes templates"
        )
    if backoff.count == backoff.n:
        return "all facts use the backoff template, which many predicates read badly in; pass --templates to `run`"
    return ""


def _of_all_rows(all_rows: GroupFigures) -> Iterator[Finding]:
    """Findings of rows without labels and of doubtful labels: no templates, unknown characters."""
    backoff, unknown = all_rows.backoff, all_rows.notes.get(UNKNOWN_TOKENS, 0)
    if all_rows.errors:
        text = f"{sum(all_rows.errors.values()):,} of {all_rows.rows:,} rows have an error instead of a label"
        lines = [f"{kind}: {count:,}" for kind, count in all_rows.errors.items()]
        yield Finding(kind="errors", severity="info", message=text, evidence=lines)
    if backoff is not None and backoff.n and (text := _without_templates(all_rows, backoff)):
        yield Finding(kind="backoff", severity="warn", message=text)
    if unknown:
        text = f"{unknown:,} rows have characters that the model does not know; their labels say little"
        yield Finding(kind="tokens", severity="warn", message=text)


def _other_language(groups: Sequence[GroupFigures]) -> Iterator[Finding]:
    """Texts that are probably in a language that the model does not read, and the groups with the largest shares. Where
    they are few, the identifier of languages may be wrong."""
    count = groups[0].notes.get(OTHER_LANGUAGE, 0)
    if not count:
        return
    shares = [(group.notes.get(OTHER_LANGUAGE, 0) / group.rows, group) for group in groups if group.rows]
    severity: Severity = "warn" if max(share for share, _ in shares) >= LEAST_DIFFERENCE else "info"
    concerned = [(share, group) for share, group in shares if share and group.group]
    largest = sorted(concerned, key=lambda entry: -entry[0])[:MOST_NAMED]
    lines = [
        f"{name_of(group.group)}: {percent(share)} of {group.rows:,}; {_not_ok_without(group, OTHER_LANGUAGE)}"
        for share, group in largest
    ]
    text = f"{count:,} of {groups[0].rows:,} texts are probably in a language that the model does not read"
    text += f"; their labels say little; {_not_ok_without(groups[0], OTHER_LANGUAGE)}"
    yield Finding(kind="language", severity=severity, message=text, evidence=lines)


def _not_ok_without(group: GroupFigures, note: str) -> str:
    """The not_OK rate of the rows of a group without a note, and of all its rows."""
    with_note, not_ok = group.notes[note], group.rates["not_ok_rate"]
    if with_note == group.rows:
        return "all rows have this note"
    without_note = (not_ok.count - group.not_ok_by_note.get(note, 0)) / (group.rows - with_note)
    return f"not OK: {percent(without_note)} of the other rows, {percent(not_ok.value or 0.0)} of all"


def scored_with(signature: str, template_file: str | None) -> tuple[BundleShown, TemplatesShown]:
    """The model and the templates of a signature. ``template_file``: path of the templates, if it is known."""
    parts = line_parts(signature)
    name, _, sha = parts.get("model", "").rpartition("@")
    return BundleShown(name=name, sha=sha), TemplatesShown(sha=parts.get("templates", ""), file=template_file)


def bundle_findings(output: Output) -> list[Finding]:
    """Finding of a bundle with random weights, of a forced export, or of the small model that ships."""
    name, summary = scored_with(output.signature, None)[0].name, output.summary
    severity: Severity = "warn"
    if summary.random_weights:
        severity, text = "fail", f"the weights of the bundle {name} are random, so its labels mean nothing"
    elif summary.forced:
        text = f"the bundle {name} was exported although its checks failed (--force)"
    elif str(output.settings.get("bundle")) in BUILTIN_BUNDLES:
        text = f"scored with {name}, a small model for a first look; export a larger one"
        if count := summary.counts.rows.notes.get(BY_SENTENCES, 0):
            text += f". It passes nearly every text decided sentence by sentence, right or wrong (rows here: {count:,})"
    else:
        return []
    return [Finding(kind="bundle", severity=severity, message=text, evidence=list(summary.forced or ()))]
