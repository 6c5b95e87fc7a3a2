"""Do the intervals of ``scorer rate`` hold what they promise, and how much narrower are they than labels alone?

``python -m benchmarks.true_rates OUT [OUT...]``: each OUT is a scored folder or file whose rows all have gold labels
(``gold_fine``, or ``gold_rough``). Gold labels stand in for annotators: samples are drawn as ``scorer sample`` draws
them, and the share of the intervals that contain the rate of the whole gold is counted. Prints Markdown.

Compared are a simple random sample with Wilson's interval (labels alone) and PPI++ with its normal interval
(Angelopoulos, Duchi & Zrnic 2023) on the same simple random sample.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scorer.evaluation.rates.estimates import Labelled
from scorer.evaluation.rates.population import RATES, Population, read_population
from scorer.evaluation.rates.sampling import draw_sample
from scorer.scoring.output_columns import fine_codes, rough_codes, rough_of
from scorer.stats import post_stratified as post
from scorer.stats.intervals import Z, wilson

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
SIZES = (50, 100, 200)
EVERY = 5
"""One draw of so many is also evaluated by system."""
TARGET = (0.93, 0.97)


@dataclass
class Hits:
    """Of many intervals, how many contain the truth, and their widths."""

    inside: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, low: float, high: float, truth: float) -> None:
        self.inside += low <= truth <= high
        self.widths.append(high - low)

    @property
    def coverage(self) -> float:
        return self.inside / len(self.widths)

    @property
    def width(self) -> float:
        """Median, in points."""
        return 100 * float(np.median(self.widths))


def ppi_plus_plus(labels: Floats, predictions: Floats, population: Floats) -> tuple[float, float]:
    """The 95 % interval of PPI++ for a mean, with the weight that minimises the variance, between 0 and 1.

    Args:
        labels, predictions: of a simple random sample. *Shape:* (labels,).
        population: predictions of all other rows. *Shape:* (rows,).
    """
    n, rest = len(labels), len(population)
    covariance = np.cov(labels, predictions, ddof=0)
    spread = np.concatenate([predictions, population]).var()
    weight = covariance[0, 1] / ((1 + n / rest) * spread) if spread > 0 else 0.0
    weight = min(1.0, max(0.0, float(weight)))
    centre = weight * population.mean() + (labels - weight * predictions).mean()
    variance = (weight * population).var() / rest + (labels - weight * predictions).var() / n
    return centre - Z * np.sqrt(variance), centre + Z * np.sqrt(variance)


def gold_of(population: Population) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """FINE and ROUGH gold of every row, int8, *Shape:* (rows,) each; FINE is -1 where the gold has none."""
    if population.scored.has("gold_fine"):
        fine = fine_codes(population.scored.array("gold_fine"), "gold_fine")
        return fine, rough_of(fine)
    rough = rough_codes(population.scored.array("gold_rough"), "gold_rough")
    return np.full(len(rough), -1, np.int8), rough


def classes_of(
    population: Population, labelled: Labelled, rate: str, among: Bools, labels: Bools | None = None
) -> list[post.ClassShare]:
    """What the labels say of the metric's two classes, among some rows; ``labels``: which labels are used."""
    truth, _ = labelled.truth(rate)
    predicted = population.predicted(rate)
    sizes = np.array([stratum.rows for stratum in labelled.design], np.int64)
    drawn = np.array([stratum.drawn for stratum in labelled.design], np.int64)
    used = np.ones(len(labelled.rows), bool) if labels is None else labels
    weights = [float((predicted[among] == label).mean()) for label in (False, True)]
    design = post.Design(labelled.strata, drawn, sizes)
    return post.class_shares(weights, truth, predicted[labelled.rows], used, design, [0.0, 1.0])


def measure(population: Population, size: int, draws: int) -> tuple[dict[str, dict[str, Hits]], dict[str, Hits]]:
    """Hits by rate and method over so many samples, and by system for labels of other systems."""
    fine, rough = gold_of(population)
    truth = Labelled(np.arange(len(rough)), np.zeros(len(rough), np.int64), fine, rough, [], True)
    rates = [rate for rate in population.rates if rate == RATES[0] or (fine >= 0).any()]
    found: dict[str, dict[str, Hits]] = {rate: defaultdict(Hits) for rate in rates}
    systems: dict[str, Hits] = defaultdict(Hits)
    every = np.ones(len(rough), bool)
    codes, names = population.groups("system")
    for seed in range(draws):
        sample = draw_sample(population, size, seed, "system")
        labelled = Labelled(sample.rows, sample.strata, fine[sample.rows], rough[sample.rows], sample.design, True)
        simple = np.random.default_rng([seed, 1]).permutation(len(rough))
        for rate in rates:
            gold, predicted = truth.truth(rate)[0], population.predicted(rate).astype(np.float64)
            right = float(gold.mean())
            classes = classes_of(population, labelled, rate, every)
            found[rate]["ours"].add(*post.interval(classes), right)
            few, rest = simple[:size], simple[size:]
            found[rate]["alone"].add(*wilson(int(gold[few].sum()), size), right)
            found[rate]["ppi"].add(*ppi_plus_plus(gold[few], predicted[few], predicted[rest]), right)
        for code, name in enumerate(names if seed < draws // EVERY else []):
            among = codes == code
            right = float((rough[among] > 0).mean())
            others = codes[sample.rows] != code
            systems[f"{name} transferred"].add(
                *post.interval(classes_of(population, labelled, RATES[0], among, others)), right
            )
            own = classes_of(population, labelled, RATES[0], among, ~others)
            systems[f"{name} own"].add(*post.interval(own), right)
    return found, systems


def report(path: Path, draws: int) -> Iterator[str]:
    """The lines of one output."""
    population = read_population(path, ("gold_fine", "gold_rough", "system"))
    fine, rough = gold_of(population)
    truth = Labelled(np.arange(len(rough)), np.zeros(len(rough), np.int64), fine, rough, [], True)
    yield f"\n{path.name}: {len(population):,} rows, `{population.scored.signature}`, {draws:,} draws\n"
    head = "rate | gold | metric | metric wrong | labels | coverage | width | alone: coverage | width | PPI++: coverage"
    yield f"| {head} | width |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for size in SIZES:
        found, systems = measure(population, size, draws)
        for rate, methods in found.items():
            gold, predicted = truth.truth(rate)[0], population.predicted(rate)
            cells = [f"{100 * value:.1f} %" for value in (gold.mean(), predicted.mean(), (gold != predicted).mean())]
            figures = [
                f"{hits.coverage:.3f} | {hits.width:.1f}"
                for hits in (methods["ours"], methods["alone"], methods["ppi"])
            ]
            yield f"| {rate} | {' | '.join(cells)} | {size} | {' | '.join(figures)} |"
        for kind in ("own", "transferred"):
            chosen = {
                name.removesuffix(f" {kind}"): hits for name, hits in systems.items() if name.endswith(f" {kind}")
            }
            worst = min(chosen, key=lambda name: chosen[name].coverage)
            below = sum(hits.coverage < TARGET[0] for hits in chosen.values())
            yield (
                f"<!-- {size} labels, by system, {kind}: mean coverage "
                f"{np.mean([hits.coverage for hits in chosen.values()]):.3f}, {below} of {len(chosen)} systems below "
                f"{TARGET[0]}, lowest {worst} {chosen[worst].coverage:.3f}, median width "
                f"{np.median([hits.width for hits in chosen.values()]):.1f} -->"
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    for path in given.out:
        for line in report(path, given.draws):
            print(line, flush=True)


if __name__ == "__main__":
    main()
