"""What a reader should look at: the sentence under the verdict, and findings, the most severe first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..metric.verdict import UNKNOWN_TOKENS
from ..scoring.outputs import Output
from ..scoring.signature import parse
from ..stats.percentages import percent
from .document import (
    Baseline,
    BaselineChanges,
    BundleShown,
    Callout,
    Checked,
    Gate,
    GroupFigures,
    RateChange,
    Severity,
    Test,
)
from .gates import describe, shown, why_nothing
from .significance import LEAST_ROWS_OF_INDEX

LEAST_DIFFERENCE = 0.01
"""A significant difference of a rate is called out from one percentage point on."""
LEAST_SHIFT = 0.1
"""A significant drift of confidence is called out from this stability index on."""
WORDS = {
    "not_ok_rate": "not_OK",
    "omission_rate": "omission",
    "hallucination_rate": "hallucination",
    "error_rate": "error",
    "empty_rate": "empty",
}
MOST_FLIPS_SHOWN = 5
_GRAVITY = {"fail": 0, "warn": 1, "info": 2}
_ORDER = (
    "gate",
    "signature",
    "flips",
    "rows",
    "regression",
    "template",
    "backoff",
    "tokens",
    "drift",
    "bundle",
    "errors",
    "improvement",
)


def call_out(
    gates: Sequence[Gate],
    groups: Sequence[GroupFigures],
    baseline: Baseline | None,
    changes: BaselineChanges | None,
    others: Sequence[Callout],
) -> list[Callout]:
    """All callouts of an audit. ``others``: those of templates and of the bundle."""
    found, told = [*others], set()
    for gate in gates:
        if gate.status == "fail" or gate.status == "warn":
            found.append(Callout(kind="gate", severity=gate.status, message=gate.message, group=gate.group))
            told |= {(gate.metric, describe(gate.group))} if gate.against == "baseline" else set()
    if baseline is not None and changes is not None:
        found += _signature(baseline) + _flips(baseline, changes) + _errors_of_kept(changes)
    for group in groups:
        found += _rows(group) + _rates(group, told) + _drift(group)
    found += _errors(groups[0]) + _facts(groups[0]) if groups else []
    return sorted(found, key=lambda c: (_GRAVITY[c.severity], _ORDER.index(c.kind)))


def _signature(baseline: Baseline) -> list[Callout]:
    if baseline.same_signature:
        return []
    message = "the baseline was scored differently: a difference may come from the data or from the scoring"
    return [Callout(kind="signature", severity="warn", message=message, evidence=baseline.differs)]


def _flips(baseline: Baseline, changes: BaselineChanges) -> list[Callout]:
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
        return [
            Callout(
                kind="flips",
                severity="fail",
                message=f"{text}, {beyond:,} of them beyond what the bounds explain",
                evidence=lines,
            )
        ]
    return [Callout(kind="flips", severity="warn" if beyond is None else "info", message=text, evidence=lines)]


def _errors_of_kept(changes: BaselineChanges) -> list[Callout]:
    if not changes.errors_appeared:
        return []
    text = f"{changes.errors_appeared:,} unchanged rows had a label in the baseline and have an error now"
    return [Callout(kind="errors", severity="warn", message=text)]


def _rows(group: GroupFigures) -> list[Callout]:
    change = group.change
    if change is None or not group.group:
        return []
    if not group.rows:
        text = f"{describe(group.group)} has no rows in this run, {change.rows_before:,} in the baseline"
        return [Callout(kind="rows", severity="warn", message=text, group=group.group)]
    if not change.rows_before:
        text = f"{describe(group.group)} is new: {group.rows:,} rows"
        return [Callout(kind="rows", severity="info", message=text, group=group.group)]
    return []


def _rates(group: GroupFigures, told: Collection[tuple[str, str]]) -> list[Callout]:
    """``told``: rates, with groups in words, whose rise a gate has told already."""
    change = group.change
    if change is None:
        return []
    found = []
    where = describe(group.group)
    directions: tuple[tuple[str, Severity, str, int], ...] = (
        ("regression", "warn", "rose", 1),
        ("improvement", "info", "fell", -1),
    )
    for kind, severity, verb, sign in directions:
        moves = [
            (name, moved)
            for name, moved in change.rates.items()
            if moved.significant and sign * (moved.difference or 0.0) >= LEAST_DIFFERENCE
            if sign < 0 or (name, where) not in told
        ]
        if moves:
            name, moved = moves[0]
            ends = [shown(name, moved.before.value), shown(name, moved.after.value)]
            text = f"{where}: the {WORDS[name]} rate {verb} from {ends[0]} to {ends[1]}"
            lines = [_moved(name, moved) for name, moved in moves]
            found.append(Callout(kind=kind, severity=severity, message=text, evidence=lines, group=group.group))
    return found


def _moved(name: str, moved: RateChange) -> str:
    ends = [shown(name, end, signed=True).removesuffix(" points") for end in (moved.low, moved.high)]
    tests = "; ".join(_test(test) for test in moved.tests if test.significant)
    difference = shown(name, moved.difference, signed=True)
    return f"{WORDS[name]} rate {difference}, 95% interval {ends[0]} to {ends[1]}; {tests}"


def _test(test: Test) -> str:
    names = {
        "mcnemar": "McNemar",
        "mantel_haenszel": "Mantel-Haenszel",
        "kolmogorov_smirnov": "Kolmogorov-Smirnov",
    }
    return f"{names[test.name]}, {test.n_after:,} rows against {test.n_before:,}, corrected p {test.q:.2g}"


def _drift(group: GroupFigures) -> list[Callout]:
    change = group.change
    if change is None or not change.confidence.significant:
        return []
    moved, now = change.confidence, group.confidence.mean
    if moved.psi is None or moved.psi < LEAST_SHIFT or now is None or moved.before.mean is None:
        return []
    text = f"{describe(group.group)}: confidences drifted, mean {moved.before.mean:.3f} to {now:.3f}"
    few = min(group.confidence.n, moved.before.n) < LEAST_ROWS_OF_INDEX
    index = f"cannot be judged below {LEAST_ROWS_OF_INDEX} rows" if few else f"{moved.psi:.2f}"
    lines = [f"population stability index {index}", *(_test(test) for test in moved.tests)]
    return [Callout(kind="drift", severity="warn", message=text, evidence=lines, group=group.group)]


def _errors(everything: GroupFigures) -> list[Callout]:
    errors = everything.errors
    if not errors:
        return []
    total = sum(errors.values())
    text = f"{total:,} of {everything.rows:,} rows have an error instead of a label"
    return [
        Callout(
            kind="errors",
            severity="info",
            message=text,
            evidence=[f"{kind}: {count:,}" for kind, count in errors.items()],
        )
    ]


def _facts(everything: GroupFigures) -> list[Callout]:
    """What makes the labels of all rows doubtful: no templates, characters that the model does not know."""
    found = []
    backoff = everything.backoff
    if backoff is not None and backoff.n and backoff.count == backoff.n:
        text = "all facts use the backoff template, which many predicates read badly in; pass --templates to `run`"
        found.append(Callout(kind="backoff", severity="warn", message=text))
    if unknown := everything.notes.get(UNKNOWN_TOKENS, 0):
        text = f"{unknown:,} rows have characters that the model does not know; their labels say little"
        found.append(Callout(kind="tokens", severity="warn", message=text))
    return found


def bundle_of(signature: str) -> BundleShown:
    """The model, as a signature has it."""
    name, _, sha = parse(signature).get("model", "").rpartition("@")
    return BundleShown(name=name, sha=sha)


def bundle_callouts(output: Output) -> list[Callout]:
    """That the weights are random, that the export was forced, or that the model is a small one that ships."""
    name, summary = bundle_of(output.signature).name, output.summary
    if summary.random_weights:
        text = f"the weights of the bundle {name} are random, so its labels mean nothing"
        return [Callout(kind="bundle", severity="fail", message=text)]
    if summary.forced:
        text = f"the bundle {name} was exported although its checks failed (--force)"
        return [Callout(kind="bundle", severity="warn", message=text, evidence=list(summary.forced))]
    if name.startswith("embedded"):
        text = f"scored with {name}, a small model for a first look; export a larger one"
        return [Callout(kind="bundle", severity="warn", message=text)]
    return []


def headline(groups: Sequence[GroupFigures], checked: Checked) -> str:
    """One or two sentences. ``groups``: as in the document, all rows first."""
    said = [why_nothing(checked)] if checked.nothing_checked else []
    whole = groups[0]
    share = whole.rates["not_ok_rate"]
    if share.value is None:
        return " ".join([*said, f"{whole.rows:,} rows, none of which counts for the not_OK rate."])
    level = f"{percent(share.value)} of {share.n:,} rows are not OK"
    moved = _significant(groups)
    if moved:
        said.append(_worst(groups, moved))
    elif whole.change is not None:
        said.append(f"No rate changed significantly; {level}.")
    else:
        highest = next((group for group in groups[1:] if group.rates["not_ok_rate"].value), None)
        said.append(f"{level}{_highest(highest)}.")
    return " ".join(said)


def _significant(groups: Sequence[GroupFigures]) -> list[tuple[GroupFigures, str, RateChange]]:
    """The significant changes worth a word, those of groups before that of all rows, the largest rise first."""
    found = [
        (group, name, change)
        for group in groups
        if group.change is not None
        for name, change in group.change.rates.items()
        if change.significant and abs(change.difference or 0.0) >= LEAST_DIFFERENCE
    ]
    return sorted(found, key=lambda one: (not one[0].group, -(one[2].difference or 0.0)))


def _worst(groups: Sequence[GroupFigures], moved: Sequence[tuple[GroupFigures, str, RateChange]]) -> str:
    group, name, change = moved[0]
    before, after = (percent(side.value or 0.0) for side in (change.before, change.after))
    text = f"{describe(group.group)}: {WORDS[name]} {before} → {after}"
    if not group.group:
        return f"{text}; no single group changed significantly." if len(groups) > 1 else f"{text}."
    same = [one for one in groups if one.grouping == group.grouping]
    others = {describe(one.group) for one, _, _ in moved if one.grouping == group.grouping}
    column = " and ".join(group.grouping)
    if len(same) == 1:
        return f"{text}."
    if len(others) == 1:
        return f"{text}; no other {column} changed."
    return f"{text}; {len(others) - 1} of the {len(same) - 1} other groups by {column} changed too."


def _highest(group: GroupFigures | None) -> str:
    if group is None:
        return ""
    return f", most of {describe(group.group)}: {percent(group.rates['not_ok_rate'].value or 0.0)}"
