"""What `scorer gates check` promises, against simulated nights: the table of docs/figures.md, as Markdown.

::

    python -m benchmarks.gate_nights [--months 100]

Every month has 30 nights after a first one, in which nothing changes: the gates of `gates init` are written from the
first night, and `gates check` says what they do from the first two. Groups have 120 rows of which 10 % are wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.audit.comparison import RateCounts, added_rate, rate_change
from scorer.audit.effects import correlations
from scorer.audit.power import NIGHTS, Rows, any_of, in_nights, rings
from scorer.audit.suggest import INCREASES, SELDOM
from scorer.stats.design_effect import ClusterSums
from scorer.stats.intervals import Pairs
from scorer.stats.mantel_haenszel import Sample

ROWS, SHARE = 120, 0.1
GROUPS = (5, 20, 50)
Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Nights:
    """How nights come about. ``texts``: rows of one input. ``within``: correlation of their labels. ``kept``: share of
    inputs whose rows stay. ``rewritten``: whether the others keep their facts and get another text."""

    name: str
    texts: int = 1
    within: float = 0.0
    kept: float = 0.0
    rewritten: bool = False


CASES = (
    Nights("all new"),
    Nights("all new, 4 rows an input", texts=4, within=0.3),
    Nights("all rewritten", within=0.5, rewritten=True),
    Nights("90 % kept, 4 rows an input", texts=4, within=0.3, kept=0.9),
)


@dataclass(frozen=True)
class Night:
    """One night after another. ``before``, ``now``: hits of each input. ``changed``: inputs whose rows are not those of
    the night before. *Shape:* (groups, inputs)."""

    before: Ints
    now: Ints
    changed: npt.NDArray[np.bool_]


def simulate(case: Nights, groups: int, nights: int, random: np.random.Generator, rise: float = 0.0) -> Iterator[Night]:
    """Nights one after the other. ``rise``: added to the share of wrong rows among what changes."""
    shape = groups, ROWS // case.texts
    hard = _inputs(case, shape, random)
    now = random.binomial(case.texts, hard)
    for _ in range(nights):
        changed = np.zeros(shape, bool)
        order = np.argsort(random.random(shape), axis=1)[:, round(case.kept * shape[1]) :]
        np.put_along_axis(changed, order, True, axis=1)
        hard = hard if case.rewritten else np.where(changed, _inputs(case, shape, random), hard)
        chance = hard + rise * (1 - hard) / (1 - SHARE)
        before, now = now, np.where(changed, random.binomial(case.texts, chance), now)
        yield Night(before, now, changed)


def _inputs(case: Nights, shape: tuple[int, int], random: np.random.Generator) -> Floats:
    """The chance of a hit for each input: a beta distribution, whose correlation is known."""
    if not case.within:
        return np.full(shape, SHARE)
    size = (1 - case.within) / case.within
    return random.beta(SHARE * size, (1 - SHARE) * size, shape)


def counts(case: Nights, night: Night) -> list[RateCounts]:
    """What the audit counts in each group."""
    within = [_within(hits, case) for hits in (night.before, night.now)]
    found = []
    for group, changed in enumerate(night.changed):
        both = night.before[group], night.now[group]
        of_group = [one[group] for one in within]
        before, after = (_sample(_sums(hits, case), one) for hits, one in zip(both, of_group, strict=True))
        removed, added = (_sample(_sums(hits[changed], case), one) for hits, one in zip(both, of_group, strict=True))
        if not case.rewritten:
            found.append(RateCounts(before, after, added, removed, added, removed))
            continue
        was, now = (hits[changed] > 0 for hits in both)  # of one text an input
        cells = (was & now, ~was & now, was & ~now, ~was & ~now)
        found.append(RateCounts(before, after, added, removed, pairs=Pairs(*(int(one.sum()) for one in cells))))
    return found


def _within(hits: Ints, case: Nights) -> list[float]:
    """The correlation of rows that share an input, of each group."""
    return [
        one["not_ok_rate"] for one in correlations({"not_ok_rate": [_sums(of_group, case) for of_group in hits]}, {})
    ]


def _sums(hits: Ints, case: Nights) -> ClusterSums:
    m, n, x, x2 = len(hits), case.texts, int(hits.sum()), int((hits * hits).sum())
    return ClusterSums(m, n * m, x, n * n * m, n * x, x2)


def _sample(sums: ClusterSums, within: float) -> Sample:
    return Sample(sums.hits, sums.rows, sums.effect(within))


def init_limit(first: Ints, case: Nights) -> float:
    """The limit that `gates init` chooses from a night. *Shape:* (groups, inputs)."""
    found = []
    for hits, within in zip(first, _within(first, case), strict=True):
        sums = _sums(hits, case)
        found.append((Rows.all_new(ROWS, sums.effect(within)), max(sums.hits / ROWS, 0.02)))
    low, high = 0, len(INCREASES) - 1
    while low < high:
        middle = (low + high) // 2
        if any_of(rings(rows, INCREASES[middle], share) for rows, share in found) <= SELDOM:
            high = middle
        else:
            low = middle + 1
    return INCREASES[low]


def promised(case: Nights, night: Night, limit: float, rise: float = 0.0) -> list[float]:
    """How often `gates check` says that each group fails, from one night and its baseline."""
    found = []
    for one in counts(case, night):
        within = max(0.0, one.pairs.correlation)
        rows = Rows(ROWS, one.fresh.n, one.gone.n, one.pairs.n, within, one.after.effect)
        share = one.before.count / ROWS
        found.append(rings(rows, limit, share, rise * one.added.n / ROWS))
    return found


@dataclass(frozen=True)
class Found:
    """Shares of nights and of months in which any group failed, and what was promised; the same of the gate on added
    rows, which promises 1 % and, in a month, 26 %. ``covered``: intervals of differences that have the true one."""

    limit: float
    night: float
    night_promised: float
    month: float
    month_promised: float
    added_night: float
    added_month: float
    covered: float


def run(case: Nights, groups: int, months: int, seed: int = 0) -> Found:
    """Simulate months in which nothing changes."""
    random = np.random.default_rng([seed, groups])
    fails, alarms, covered = np.zeros((months, NIGHTS), bool), np.zeros((months, NIGHTS), bool), []
    limits, said = [], []
    for month in range(months):
        for number, night in enumerate(simulate(case, groups, NIGHTS, random)):
            if number == 0:
                limits.append(init_limit(night.before, case))
                said.append(any_of(promised(case, night, limits[-1])))
            rises = (night.now.sum(axis=1) - night.before.sum(axis=1)) / ROWS
            fails[month, number] = bool((rises > limits[-1] + 1e-9).any())
            for one in counts(case, night):
                p = added_rate(one).p_removed
                alarms[month, number] |= p is not None and p < SELDOM / groups
                if number == 0:
                    change = rate_change(one)
                    covered.append(change.low is not None and change.low <= 0 <= (change.high or 0.0))
    return Found(
        limit=float(np.mean(limits)),
        night=float(fails.mean()),
        night_promised=float(np.mean(said)),
        month=float(fails.any(axis=1).mean()),
        month_promised=float(np.mean([in_nights(one) for one in said])),
        added_night=float(alarms.mean()),
        added_month=float(alarms.any(axis=1).mean()),
        covered=float(np.mean(covered)),
    )


def lines(months: int) -> Iterator[str]:
    """The table, line by line."""
    yield (
        "| nights | groups | limit | a night: promised | seen | 30 nights: promised | seen | "
        "new rows, a night | 30 nights | coverage |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for case in CASES:
        for groups in GROUPS:
            one = run(case, groups, months)
            shares = (one.night_promised, one.night, one.month_promised, one.month, one.added_night, one.added_month)
            cells = [f"+{100 * one.limit:.1f}", *(f"{100 * share:.2g} %" for share in shares)]
            yield f"| {case.name} | {groups} | {' | '.join(cells)} | {100 * one.covered:.1f} % |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=100)
    for line in lines(parser.parse_args().months):
        print(line, flush=True)
