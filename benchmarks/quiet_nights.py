"""How often the gates of ``scorer gates init`` warn and fail although nothing changed, over nights drawn by resampling.

    python -m benchmarks.quiet_nights OUT [--files 100] [--nights 10]

OUT is a scored output with a column ``system``. Its rows are resampled within each system: a night for which gates are
written, which is the baseline, and nights after it in which all rows, or a third, are new. Limits, figures and gates
are those of the program; only the way from files to counts is left out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.audit.document import ADDED_RATES, RATES, Change, Confidence, ConfidenceChange, Group, GroupFigures
from scorer.audit.drift import ROWS, NightlyCounts
from scorer.audit.figures import Sides, added_rate, rate_change
from scorer.audit.gate_rules import Rule, load_gates
from scorer.audit.gates import evaluate
from scorer.audit.mix import add_mix
from scorer.audit.suggest import NIGHTS, change_gates, value_gates
from scorer.metric.verdict import FINE
from scorer.stats.intervals import PairedCounts, Sample
from scorer.storage.finished_output import FinishedOutput

Codes = npt.NDArray[np.int64]
Night = Mapping[str, Codes]
"""Positions of the labels in :data:`FINE` of each system's rows."""
SEED = 77


def hits(codes: Codes) -> dict[str, int]:
    """Rows that count for each rate; no row has an error or a blank text."""
    found = {"not_ok_rate": codes != 0, "omission_rate": codes & 1 == 1, "hallucination_rate": codes & 2 == 2}
    return {name: int(found[name].sum()) if name in found else 0 for name in RATES}


def sample(codes: Codes, name: str) -> Sample:
    """The rows that count for a rate; labels alone do not say which facts are contradicted."""
    return Sample() if name == "contradicted_rate" else Sample(hits(codes)[name], len(codes))


def sides(before: Codes, now: Codes, kept: int, name: str) -> Sides:
    """Samples of a group whose first rows are ``kept``."""
    baseline, current, removed, added = (sample(codes, name) for codes in (before, now, before[kept:], now[kept:]))
    return Sides(baseline, current, removed, added, removed_unpaired=removed, added_unpaired=added)


def group_figures(group: Group, parts: Sequence[tuple[Codes, Codes, int]]) -> GroupFigures:
    """The figures of rows, (earlier, later, kept) of each stratum, all of which are in the group."""
    before, now = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    nothing, kept = Confidence(n=0, mean=None), sum(part[2] for part in parts)
    rates, added = {}, {}
    for name in RATES:
        strata = [sides(*part, name) for part in parts]
        own = Sides(
            *(Sample(sum(one.count for one in side), sum(one.n for one in side)) for side in zip(*strata, strict=True))
        )
        rates[name] = rate_change(own, strata, PairedCounts(), PairedCounts())
        added[f"added_{name}"] = added_rate(own, strata, PairedCounts())
    change = Change(
        rows_before=len(before), added=len(now) - kept, removed=len(before) - kept, kept=kept, rewritten=0, flips=0,
        backoff_before=None, rates=rates, added_rates={name: added[name] for name in ADDED_RATES},
        confidence=ConfidenceChange(before=nothing, psi=None),
    )  # fmt: skip
    fresh = np.concatenate([later[same:] for _, later, same in parts])
    return GroupFigures(
        group=group, grouping=list(group), rows=len(now), scored=len(now), reused=0, fine={}, rough={}, errors={},
        notes={}, rates={name: sample(now, name).rate for name in RATES},
        design_effects=dict.fromkeys(RATES, 1.0), backoff=None, confidence=nothing, predicates=[],
        predicates_left_out=0, change=change, new={ROWS: len(fresh), **hits(fresh)},
    )  # fmt: skip


def figures(before: Night, now: Night, kept: Mapping[str, int]) -> list[GroupFigures]:
    """All rows, then each system."""
    parts = {system: (before[system], now[system], kept[system]) for system in before}
    groups = [group_figures({"system": system}, [part]) for system, part in parts.items()]
    whole = group_figures({}, list(parts.values()))
    add_mix(whole, groups)
    return [whole, *groups]


def gates_of(first: Night, folder: Path) -> list[Rule]:
    """The gates that are written for a night."""
    document: Any = SimpleNamespace(
        groups=figures(first, first, {system: len(rows) for system, rows in first.items()}),
        options=SimpleNamespace(by=[["system"]]), rows=SimpleNamespace(all=sum(map(len, first.values()))),
        out="a night", finished="now",
    )  # fmt: skip
    paths = [folder / "gates.toml", folder / "changes.toml"]
    for path, content in zip(paths, (value_gates, change_gates), strict=True):
        path.write_text(content(document))
    return load_gates(paths)


def resampled(pool: Night, rng: np.random.Generator, sizes: Mapping[str, int] | None = None) -> Night:
    return {s: rng.choice(rows, len(rows) if sizes is None else sizes[s]) for s, rows in pool.items()}


def past_nights(pool: Night, new: Mapping[str, int], rng: np.random.Generator) -> dict[str, Any]:
    """New rows of the nights of a history before this one."""
    nights = {}
    for number in range(2 * NIGHTS - 1):
        drawn = resampled(pool, rng, new)
        of_groups = {(("system", system),): {ROWS: len(rows), **hits(rows)} for system, rows in drawn.items()}
        nights[f"{number:02}"] = {(): {ROWS: sum(new.values()), **hits(np.concatenate([*drawn.values()]))}, **of_groups}
    return nights


def quiet_night(
    pool: Night, first: Night, rules: Sequence[Rule], share: float, rng: np.random.Generator
) -> Counter[str]:
    """Results of the gates of a night of which a share of the rows is new, by kind of gate."""
    new = {system: round(share * len(rows)) for system, rows in first.items()}
    drawn = resampled(pool, rng, new)
    now = {system: np.concatenate([rows[: len(rows) - new[system]], drawn[system]]) for system, rows in first.items()}
    whole, *groups = figures(first, now, {system: len(rows) - new[system] for system, rows in first.items()})
    counts = past_nights(pool, new, rng)
    counts["99"] = {tuple(one.group.items()): {ROWS: 0} | one.new for one in (whole, *groups)}
    nightly = NightlyCounts(sorted(counts), counts, [one.group for one in groups])
    found = evaluate(rules, lambda grouping: groups if grouping else [whole], nightly=nightly)
    results: Counter[str] = Counter()
    for gate in found:
        if gate.status in ("warn", "fail") and gate.metric not in ("backoff_rate", "label_flips"):
            against = f" against {gate.against}" if gate.against else ""
            results[f"{gate.metric}{against}, {'each system' if gate.group else 'all rows'}: {gate.status}"] = 1
            results["any gate: fail" if gate.status == "fail" else "any gate: warn"] = 1
            results["any gate: warn or fail"] = 1
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", type=int, default=100, help="nights for which gates are written")
    parser.add_argument("--nights", type=int, default=10, help="quiet nights after each of them")
    args = parser.parse_args()
    table = FinishedOutput.open(args.out).table(["system", "fine"])
    systems, fine = (np.array(table[name].to_pylist()) for name in ("system", "fine"))
    pool = {str(s): np.array([FINE.index(one) for one in fine[systems == s]]) for s in np.unique(systems)}
    rng = np.random.default_rng(SEED)
    total = args.files * args.nights
    results: dict[float, Counter[str]] = {1.0: Counter(), 1 / 3: Counter()}
    with TemporaryDirectory() as folder:
        for _ in range(args.files):
            first = resampled(pool, rng)
            rules = gates_of(first, Path(folder))
            for share, counter in results.items():
                for _ in range(args.nights):
                    counter.update(quiet_night(pool, first, rules, share, rng))
    rates = ", ".join(f"{system} {(rows > 0).sum()} of {len(rows)}" for system, rows in pool.items())
    print(f"{total} quiet nights; not OK: {rates}")
    for share, counter in results.items():
        print(f"{100 * share:.0f} % of the rows new:")
        for name, count in sorted(counter.items()):
            print(f"  {name} {100 * count / total:.1f} %")


if __name__ == "__main__":
    main()
