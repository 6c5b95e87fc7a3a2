"""What a reader should look at: which group changed, in what, and which rows show it; then everything else.

A group that changed is one finding, whatever number of gates and tests says so. Its sentence names the fact (predicate)
or the kind of error that accounts for most of the change, with counts before and now.

**Templates.** A template looks wrong where the facts of its predicate fail far more often than all others, in every
group: with at least :data:`LEAST_FACTS` checked facts, the lower end of the 95 % interval of their omission rate is at
least :data:`LEAST_RATE`, and the odds at that end are at least :data:`TIMES_THE_ODDS` times those of all other facts
(odds, since no rate can be three times that of the others if theirs is above a third). Of the groups of the first
grouping with at least 10 of its facts, nine in ten must have an omission rate of at least 0.2 and at least twice that
of the group's other facts. A fact that one system leaves out is a fault of that system; a template that states the fact
wrongly fails for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..metric.facts import Triple
from ..metric.group_values import spelled
from ..metric.templates import Templates
from ..metric.verdict import UNKNOWN_TOKENS
from ..scoring.outputs import Output
from ..scoring.signature import parse
from ..stats.intervals import rate, wilson
from ..stats.percentages import percent
from . import queries
from .database import Grouping
from .document import (
    ADDED_RATES,
    LEAST_ROWS_OF_INDEX,
    RATES,
    Baseline,
    BaselineChanges,
    BundleShown,
    Checked,
    Finding,
    Gate,
    Group,
    GroupFigures,
    Predicate,
    RateChange,
    Severity,
    TemplateFigures,
)
from .gates import describe, shown, why_nothing
from .scan import ScannedRun

LEAST_DIFFERENCE = 0.01
"""A significant difference of a rate is a finding from one percentage point on."""
LEAST_SHIFT = 0.1
"""A significant drift of confidence is a finding from this stability index on."""
WORDS = {
    "not_ok_rate": "not OK",
    "omission_rate": "omission",
    "hallucination_rate": "hallucination",
    "error_rate": "error",
    "empty_rate": "no text",
}
MOST_FLIPS_SHOWN, MOST_EVIDENCE, MOST_TEMPLATES = 5, 6, 1000
LEAST_FACTS, LEAST_RATE, TIMES_THE_ODDS = 30, 0.2, 3.0
_FACTS_OF_GROUP, _TIMES_THE_GROUP, _GROUPS = 10, 2.0, 0.9
_FACTS_THAT_ALL_FAIL = 5
"""A predicate all of whose facts fail is named from so many on."""
_GRAVITY = {"fail": 0, "warn": 1, "info": 2}
_ORDER = ("changed", "gate", "signature", "flips", "rows", "template", "backoff", "tokens", "drift", "bundle", "errors",
          "improved")  # fmt: skip


def all_findings(
    gates: Sequence[Gate],
    groups: Sequence[GroupFigures],
    baseline: Baseline | None,
    changes: BaselineChanges | None,
    others: Sequence[Finding],
) -> list[Finding]:
    """All findings of an audit, the most severe first. ``others``: those of templates and of the bundle."""
    found, loud = [*others], [gate for gate in gates if gate.status in ("fail", "warn")]
    changed = [one for group in groups for one in _changed(group, loud)]
    told = [gate for gate in loud if _is_told(gate, changed)]
    found += changed + [_of_gate(gate) for gate in loud if gate not in told]
    if baseline is not None and changes is not None:
        found += _signature(baseline) + _flips(baseline, changes) + _errors_of_kept(changes)
    for group in groups:
        found += _rows(group) + _drift(group)
    found += _errors(groups[0]) + _labels_in_doubt(groups[0]) if groups else []
    return sorted(found, key=lambda one: (_GRAVITY[one.severity], _ORDER.index(one.kind), not one.group))


def name_of(group: Group) -> str:
    """A group as people name it: its values alone."""
    return ", ".join(spelled(value) for value in group.values()) or "all rows"


def _is_told(gate: Gate, changed: Sequence[Finding]) -> bool:
    return gate.metric in (*RATES, *ADDED_RATES) and any(gate.message in one.gates for one in changed)


def _of_gate(gate: Gate) -> Finding:
    assert gate.status == "fail" or gate.status == "warn"
    return Finding(kind="gate", severity=gate.status, message=gate.message, group=gate.group)


def _changed(group: GroupFigures, gates: Sequence[Gate]) -> list[Finding]:
    """That a group got worse or better: at most one finding."""
    change = group.change
    mine = [gate for gate in gates if gate.group == group.group and gate.metric in (*RATES, *ADDED_RATES)]
    mine = [gate for gate in mine if gate.reason is None]
    moved = [] if change is None else [one for one in change.rates.items() if _is_worth_a_word(one[1])]
    rises = [one for one in moved if (one[1].difference or 0.0) > 0]
    severity: Severity = "fail" if any(gate.status == "fail" for gate in mine) else "warn"
    evidence = [_moved(name, one) for name, one in rises or moved]
    if mine or rises:
        message, subject = _what_changed(group, mine)
        return [
            Finding(kind="changed", severity=severity, group=group.group, message=message, predicate=subject,
                    gates=[gate.message for gate in mine], evidence=evidence)
        ]  # fmt: skip
    if moved:
        message = f"{name_of(group.group)}: {_counts(*moved[0])}"
        return [Finding(kind="improved", severity="info", group=group.group, message=message, evidence=evidence)]
    return []


def _is_worth_a_word(moved: RateChange) -> bool:
    return moved.significant and abs(moved.difference or 0.0) >= LEAST_DIFFERENCE


def _what_changed(group: GroupFigures, gates: Sequence[Gate]) -> tuple[str, str | None]:
    """The change of a group in a sentence, and the predicate that accounts for it."""
    name, change = name_of(group.group), group.change
    if change is None or not change.rows_before:
        whole = group.rates["not_ok_rate"]
        return f"{name}: {whole.count:,} of {whole.n:,} rows are not OK", None
    if all(gate.metric in ADDED_RATES for gate in gates) and gates:
        added = change.added_rates[gates[0].metric]
        word = WORDS[gates[0].metric.removeprefix("added_")]
        text = f"{name}: {word} in {added.added.count:,} of {added.added.n:,} new texts"
        before = added.removed if added.removed.n else added.baseline
        return f"{text}, before in {before.count:,} of {before.n:,}{'' if added.removed.n else ' rows'}", None
    increase = {key: _extra(one.before.count, one.before.n, one.after.count, one.after.n)
                for key, one in change.rates.items()}  # fmt: skip
    worst = max(group.predicates, key=_extra_omissions, default=None)
    if worst is not None and worst.before is not None:
        extra = _extra_omissions(worst)
        if extra >= 2 and extra >= increase["not_ok_rate"] / 2:
            now, before = worst.omission, worst.before
            text = f"{worst.predicate} omitted in {now.count:,} of {now.n:,}"
            return f"{name}: {text}, before in {before.count:,} of {before.n:,}", worst.predicate
    kinds = ("hallucination_rate", "omission_rate", "error_rate", "empty_rate")
    kind = max(kinds, key=increase.__getitem__)
    kind = kind if increase[kind] >= increase["not_ok_rate"] / 2 > 0 else "not_ok_rate"
    return f"{name}: {_counts(kind, change.rates[kind])}", None


def _extra(before: int, n_before: int, now: int, n: int) -> float:
    """Hits beyond those of the earlier rate."""
    return now - n * before / n_before if n_before else 0.0


def _extra_omissions(one: Predicate) -> float:
    return _extra(one.before.count, one.before.n, one.omission.count, one.omission.n) if one.before else 0.0


def _counts(name: str, moved: RateChange) -> str:
    now, before = moved.after, moved.before
    return f"{WORDS[name]} in {now.count:,} of {now.n:,} rows, before in {before.count:,} of {before.n:,}"


def _moved(name: str, moved: RateChange) -> str:
    ends = [shown(name, end, signed=True).removesuffix(" points") for end in (moved.low, moved.high)]
    difference = shown(name, moved.difference, signed=True)
    test = f"; corrected p {moved.test.q:.2g}" if moved.test is not None else ""
    return f"{WORDS[name]} {difference}, 95% interval {ends[0]} to {ends[1]}{test}"


def _signature(baseline: Baseline) -> list[Finding]:
    if baseline.same_signature:
        return []
    message = "the baseline was scored differently: a difference may come from the data or from the scoring"
    return [Finding(kind="signature", severity="warn", message=message, evidence=baseline.differs)]


def _flips(baseline: Baseline, changes: BaselineChanges) -> list[Finding]:
    flips = changes.flips
    if not flips.count or not baseline.same_signature:
        return []
    beyond = flips.beyond_bound
    lines = [
        f"{flip.file}:{flip.row} {flip.before} → {flip.after}"
        + (f", |Δ| {flip.difference:.2g}" if flip.difference is not None else "")
        for flip in flips.rows[:MOST_FLIPS_SHOWN]
    ]
    if flips.allowed is not None:
        lines.insert(0, f"the measured bounds explain |Δ probability| up to {flips.allowed:.2g}")
    text = f"{flips.count:,} unchanged rows have another label"
    if beyond:
        text = f"{text}, {beyond:,} of them beyond what the bounds explain"
        return [Finding(kind="flips", severity="fail", message=text, evidence=lines)]
    return [Finding(kind="flips", severity="warn" if beyond is None else "info", message=text, evidence=lines)]


def _errors_of_kept(changes: BaselineChanges) -> list[Finding]:
    if not changes.errors_appeared:
        return []
    text = f"{changes.errors_appeared:,} unchanged rows had a label in the baseline and have an error now"
    return [Finding(kind="errors", severity="warn", message=text)]


def _rows(group: GroupFigures) -> list[Finding]:
    change = group.change
    if change is None or not group.group:
        return []
    if not group.rows:
        text = f"{name_of(group.group)} has no rows in this run, {change.rows_before:,} in the baseline"
        return [Finding(kind="rows", severity="warn", message=text, group=group.group)]
    if not change.rows_before:
        text = f"{name_of(group.group)} is new: {group.rows:,} rows"
        return [Finding(kind="rows", severity="info", message=text, group=group.group)]
    return []


def _drift(group: GroupFigures) -> list[Finding]:
    moved, now = group.change.confidence if group.change is not None else None, group.confidence
    if (
        moved is None
        or moved.psi is None
        or moved.psi < LEAST_SHIFT
        or min(now.n, moved.before.n) < LEAST_ROWS_OF_INDEX
    ):
        return []
    text = f"{name_of(group.group)}: confidences drifted, mean {moved.before.mean:.3f} to {now.mean:.3f}"
    lines = [f"population stability index {moved.psi:.2f}"]
    return [Finding(kind="drift", severity="warn", message=text, evidence=lines, group=group.group)]


def _errors(everything: GroupFigures) -> list[Finding]:
    errors = everything.errors
    if not errors:
        return []
    text = f"{sum(errors.values()):,} of {everything.rows:,} rows have an error instead of a label"
    evidence = [f"{kind}: {count:,}" for kind, count in errors.items()]
    return [Finding(kind="errors", severity="info", message=text, evidence=evidence)]


def _labels_in_doubt(everything: GroupFigures) -> list[Finding]:
    """What makes the labels of all rows doubtful: no templates, characters that the model does not know."""
    found = []
    backoff = everything.backoff
    if backoff is not None and backoff.n and backoff.count == backoff.n:
        text = "all facts use the backoff template, which many predicates read badly in; pass --templates to `run`"
        found.append(Finding(kind="backoff", severity="warn", message=text))
    if unknown := everything.notes.get(UNKNOWN_TOKENS, 0):
        text = f"{unknown:,} rows have characters that the model does not know; their labels say little"
        found.append(Finding(kind="tokens", severity="warn", message=text))
    return found


def bundle_of(signature: str) -> BundleShown:
    """The model, as a signature has it."""
    name, _, sha = parse(signature).get("model", "").rpartition("@")
    return BundleShown(name=name, sha=sha)


def of_bundle(output: Output) -> list[Finding]:
    """That the weights are random, that the export was forced, or that the model is a small one that ships."""
    name, summary = bundle_of(output.signature).name, output.summary
    if summary.random_weights:
        text = f"the weights of the bundle {name} are random, so its labels mean nothing"
        return [Finding(kind="bundle", severity="fail", message=text)]
    if summary.forced:
        text = f"the bundle {name} was exported although its checks failed (--force)"
        return [Finding(kind="bundle", severity="warn", message=text, evidence=list(summary.forced))]
    if name.startswith("embedded"):
        text = f"scored with {name}, a small model for a first look; export a larger one"
        return [Finding(kind="bundle", severity="warn", message=text)]
    return []


def headline(groups: Sequence[GroupFigures], findings: Sequence[Finding], checked: Checked) -> str:
    """One or two sentences. ``groups``: as in the document, all rows first."""
    said = [why_nothing(checked)] if checked.nothing_checked else []
    whole = groups[0]
    share = whole.rates["not_ok_rate"]
    if share.value is None:
        return " ".join([*said, f"{whole.rows:,} rows, none of which counts for the not_OK rate."])
    level = f"{percent(share.value)} of {share.n:,} rows are not OK"
    changed = [one for one in findings if one.kind == "changed"]
    if changed:
        others = sum(bool(one.group) for one in changed[1:])
        more = f"; {others} more {'group' if others == 1 else 'groups'} got worse" if others else ""
        said.append(f"{changed[0].message}{more}.")
    elif better := next((one for one in findings if one.kind == "improved"), None):
        said.append(f"{better.message}; {level}.")
    elif whole.change is not None:
        said.append(f"No rate rose significantly; {level}.")
    else:
        highest = next((group for group in groups[1:] if group.rates["not_ok_rate"].value), None)
        most = "" if highest is None else f", most of {name_of(highest.group)}: {_share_of(highest)}"
        said.append(f"{level}{most}.")
    return " ".join(said)


def _share_of(group: GroupFigures) -> str:
    return percent(group.rates["not_ok_rate"].value or 0.0)


def looks_wrong(failed: int, facts: int, other_failed: int, other_facts: int) -> bool:
    """Whether ``failed`` of ``facts`` is far worse than ``other_failed`` of ``other_facts``, by the rule above.

    Half a failure is added to the others' failures and half to their successes, so that their odds are neither 0 nor
    infinite. Without other facts, the result is False.
    """
    if facts < LEAST_FACTS or not other_facts:
        return False
    low = wilson(failed, facts)[0]
    others_odds = (other_failed + 0.5) / (other_facts - other_failed + 0.5)
    return low >= LEAST_RATE and low >= TIMES_THE_ODDS * others_odds * (1 - low)


def template_figures(run: ScannedRun, templates: Templates) -> list[TemplateFigures]:
    """Each template that was used, by falling omission rate, at most :data:`MOST_TEMPLATES`."""
    counts, names = queries.facts(run, ()), run.predicates.names
    used = [
        (name, "", facts, lost)
        for name, facts, lost in zip(names, counts.checked[0].tolist(), counts.omitted[0].tolist(), strict=True)
        if facts and not templates.depends_on_object(name)
    ]
    used += [(names[code], run.objects.names[value], facts, lost) for code, value, facts, lost in queries.objects(run)]
    merged: dict[tuple[str, str | None, str, bool], list[int]] = {}
    for predicate, value, facts, lost in used:
        found = templates.lookup(Triple("", predicate, value))
        key = predicate, None if found.backoff else found.object, found.text, found.backoff
        entry = merged.setdefault(key, [0, 0])
        entry[0] += facts
        entry[1] += lost
    figures = [
        TemplateFigures(
            predicate=name, object=value, template=text, backoff=backoff, omission=rate(lost, facts), suspect=False
        )
        for (name, value, text, backoff), (facts, lost) in merged.items()
    ]
    figures.sort(key=lambda f: (-(f.omission.value or 0.0), -f.omission.n, f.predicate, f.object or ""))
    return figures[:MOST_TEMPLATES]


def of_templates(
    run: ScannedRun, grouping: Grouping, groups: list[Group], figures: GroupFigures, templates: list[TemplateFigures]
) -> list[Finding]:
    """Mark the templates that look wrong in ``figures`` (all rows) and ``templates``, and return a finding for each."""
    counts = queries.facts(run, ())
    checked, omitted = counts.checked[0].tolist(), counts.omitted[0].tolist()
    facts, lost = sum(checked), sum(omitted)
    texts: dict[str, list[TemplateFigures]] = {}
    for one in templates:
        texts.setdefault(one.predicate, []).append(one)
    found = []
    for entry in figures.predicates:
        code = run.predicates.code(entry.predicate)
        n, k = checked[code], omitted[code]
        used = texts.get(entry.predicate, [])
        everywhere, lines = _everywhere(run, grouping, groups, code)
        if looks_wrong(k, n, lost - k, facts - n) and everywhere:
            entry.suspect = True
            for one in used:
                one.suspect = one.omission.n > 0 and (one.omission.value or 0.0) >= LEAST_RATE
            lines += [f"template: {one.template}" for one in used[:3]]
            found.append(_wrong_template(f"{entry.predicate!r}", k, n, lost, facts, lines))
            continue
        for one in used:
            k, n = one.omission.count, one.omission.n
            if one.object is not None and looks_wrong(k, n, lost - k, facts - n):
                one.suspect = True
                name = f"{one.predicate!r} for {one.object!r}"
                found.append(_wrong_template(name, k, n, lost, facts, [f"template: {one.template}"]))
    return [*found, *_few(figures, facts, lost)]


def _wrong_template(name: str, k: int, n: int, lost: int, facts: int, lines: Sequence[str]) -> Finding:
    evidence = [_line("omitted", k, n), _line("omitted of all other facts", lost - k, facts - n), *lines]
    return Finding(kind="template", severity="warn", message=f"the template of {name} looks wrong", evidence=evidence)


def _few(figures: GroupFigures, facts: int, lost: int) -> list[Finding]:
    """Predicates of which all facts fail, and which have too few of them for the rule above."""
    chosen = [
        one
        for one in figures.predicates
        if not one.suspect and one.omission.count == one.omission.n >= _FACTS_THAT_ALL_FAIL
    ]
    count = sum(one.omission.n for one in chosen)
    if not chosen or count == facts or lost == facts:
        return []
    predicates = "1 predicate fails" if len(chosen) == 1 else f"{len(chosen):,} predicates fail"
    lines = [_line(one.predicate, one.omission.count, one.omission.n) for one in chosen[:MOST_EVIDENCE]]
    message = f"{predicates} in {count:,} of {count:,} facts; too few to judge"
    return [Finding(kind="template", severity="warn", message=message, evidence=lines)]


def _everywhere(run: ScannedRun, grouping: Grouping, groups: list[Group], code: int) -> tuple[bool, list[str]]:
    """Whether a predicate fails across groups, and the evidence of each group."""
    if not grouping:
        return True, []
    _, checked, omitted = queries.facts(run, grouping)
    facts, lost = checked.sum(axis=1).tolist(), omitted.sum(axis=1).tolist()
    failing, lines = 0, []
    asked = [g for g in range(len(groups)) if checked[g, code] >= _FACTS_OF_GROUP]
    for g in asked:
        n, k = int(checked[g, code]), int(omitted[g, code])
        rest = (lost[g] - k) / max(facts[g] - n, 1)
        failing += k / n >= max(LEAST_RATE, _TIMES_THE_GROUP * rest)
        lines.append(_line(f"in {describe(groups[g])}", k, n))
    if not asked:
        return True, []
    if len(lines) > MOST_EVIDENCE:
        lines = [*lines[:MOST_EVIDENCE], f"and {len(lines) - MOST_EVIDENCE} more groups"]
    return failing >= _GROUPS * len(asked), [f"far above the rest in {failing} of {len(asked)} groups", *lines]


def _line(what: str, count: int, n: int) -> str:
    return f"{what}: {count:,} of {n:,} ({percent(count / n)})" if n else f"{what}: no fact"
