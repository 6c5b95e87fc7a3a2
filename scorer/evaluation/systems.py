"""Systems of one output over their common inputs: their rates, and the differences of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow.compute as pc
from msgspec.structs import replace

from ..metric.verdict import FINE
from ..stats.intervals import Rate, share_rate
from ..stats.paired import (
    Difference,
    PairedRate,
    paired_rate,
    pairs_needed,
    pairs_needed_for,
    pairs_of,
    true_difference,
    true_rate,
)
from ..stats.post_stratified import LabelledClass
from ..stats.significance import holm
from ..system.codec import Record
from .label_figures import Floats, Indices, Mask
from .sampling import LabelledOutput
from .true_rates import RATES, counted, rates_of

LEVEL = 0.05
CONTRADICTED = "contradicted_rate"


class TrueShare(Record, frozen=True, kw_only=True):
    """A share estimated from human labels, with its 95 % interval."""

    value: float
    low: float
    high: float


class ComparedSystem(Record, frozen=True, kw_only=True):
    """A system.

    Attributes:
        system: name of the system.
        rows: texts with a label of the metric.
        errors: texts without one or with an excluded note, which are left out.
        rates: the metric's rates, with 95 % intervals over inputs.
        labels: texts with a human label.
        true: true rates, by rate; empty without human labels.
    """

    system: str
    rows: int
    errors: int
    rates: dict[str, Rate]
    labels: int
    true: dict[str, TrueShare]


class ComparedPair(Record, frozen=True, kw_only=True):
    """Two systems over the inputs that both have a labelled text for.

    Attributes:
        first: the system with the smaller not_OK rate.
        second: the other system.
        pairs: pairs of texts for the same input.
        rates: the metric's rates and their differences.
        p: p-values corrected over all pairs (Holm), by rate.
        true: differences of true rates; empty without human labels, or where one system has none.
        true_p: their p-values, corrected over all pairs.
        needed: inputs that would show the not_OK difference with 80 % power; ``None`` where the rates are equal.
    """

    first: str
    second: str
    pairs: int
    rates: dict[str, PairedRate]
    p: dict[str, float]
    true: dict[str, Difference]
    true_p: dict[str, float]
    needed: int | None

    @property
    def is_different(self) -> bool:
        """Whether the not_OK rates differ significantly: the true ones, if there are human labels."""
        p = self.true_p if self.true else self.p
        return p.get(RATES[0], 1.0) < LEVEL


class Agreement(Record, frozen=True, kw_only=True):
    """Agreement of the metric with people over all rows.

    Attributes:
        name: ``fine`` or ``rough`` for all rows, or a label of the metric for the rows with this label.
        labels: rows with a human label.
        value: share of rows that the metric labels as people do.
        low: lower limit of its 95 % interval.
        high: upper limit.
    """

    name: str
    labels: int
    value: float
    low: float
    high: float


class Systems:
    """Systems of one output, the best first.

    Attributes:
        masks: by rate, the rows that count. bool, *Shape:* (rows,).
        rows: of each system with a label of the metric, in the order of their inputs. int64.
    """

    def __init__(
        self, output: LabelledOutput, codes: Indices, names: Sequence[str], inputs: Indices, human: Mapping[int, str]
    ) -> None:
        self.output, self.names, self.inputs, self.human_labels = output, names, inputs, human
        self.codes, self.masks = codes, rate_masks(output)
        self.human = np.full(len(output), -2, np.int64)  # -1: not_OK without a side; -2: no label
        for row, label in human.items():
            self.human[row] = FINE.index(label) if label in FINE else -1
        self.is_labelled = self.human > -2
        self.true_rates = [name for name in RATES if name in self.masks] if human else []
        if (self.human == -1).any():
            self.true_rates = self.true_rates[:1]
        # The k-th text of a system for an input is paired with the k-th of another.
        rows = np.flatnonzero(output.fine >= 0)
        order = rows[np.lexsort((rows, inputs[rows], codes[rows]))]
        group = codes[order] * (int(inputs.max()) + 1) + inputs[order]
        starts = np.r_[True, group[1:] != group[:-1]]
        first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
        self.rows = [order[codes[order] == code] for code in range(len(names))]
        keys = inputs[order] * len(output) + np.arange(len(order)) - first
        self.keys = [keys[codes[order] == code] for code in range(len(names))]
        self.order = sorted(range(len(names)), key=lambda code: (self._badness(code), names[code]))

    def _badness(self, code: int) -> float:
        rows = self.rows[code]
        if self.is_labelled[rows].any():
            return true_rate(self._classes(rows, RATES[0]))[0]
        return float(self.masks[RATES[0]][rows].mean()) if len(rows) else 1.0

    def systems(self) -> list[ComparedSystem]:
        systems = []
        for code in self.order:
            rows = self.rows[code]
            labels = int(self.is_labelled[rows].sum())
            rates = {name: share_rate(mask[rows], self.inputs[rows]) for name, mask in self.masks.items()}
            true = {name: true_rate(self._classes(rows, name)) for name in self.true_rates if labels}
            systems.append(
                ComparedSystem(
                    system=self.names[code],
                    rows=len(rows),
                    errors=int((self.codes == code).sum()) - len(rows),
                    rates=rates,
                    labels=labels,
                    true={
                        name: TrueShare(value=value, low=low, high=high) for name, (value, low, high) in true.items()
                    },
                )
            )
        return systems

    def pairs(self) -> list[ComparedPair]:
        """All pairs that share inputs, with p-values corrected over them."""
        pairs = [
            pair for first, second in combinations(self.order, 2) if (pair := self._pair(first, second)) is not None
        ]
        corrected: list[dict[str, dict[str, float]]] = [{"p": {}, "true_p": {}} for _ in pairs]
        for field in ("p", "true_p"):
            for name in self.masks:
                adjusted = holm([getattr(pair, field).get(name) for pair in pairs])
                for target, p in zip(corrected, adjusted, strict=True):
                    if p is not None:
                        target[field][name] = p
        return [replace(pair, **target) for pair, target in zip(pairs, corrected, strict=True)]

    def common_rows(self, first: int, second: int) -> tuple[Indices, Indices]:
        """The paired rows of two systems, by their codes. int64, *Shape:* (pairs,) each."""
        _, positions, other_positions = np.intersect1d(self.keys[first], self.keys[second], return_indices=True)
        return self.rows[first][positions], self.rows[second][other_positions]

    def _pair(self, first: int, second: int) -> ComparedPair | None:
        of_first, of_second = self.common_rows(first, second)
        if not len(of_first):
            return None
        inputs = self.inputs[of_first]
        counts = {name: pairs_of(mask[of_first], mask[of_second], inputs) for name, mask in self.masks.items()}
        rates = {name: paired_rate(pairs) for name, pairs in counts.items()}
        true = {name: difference for name in self.true_rates if (difference := self._true(of_first, of_second, name))}
        not_ok = counts[RATES[0]]
        return ComparedPair(
            first=self.names[first],
            second=self.names[second],
            pairs=len(of_first),
            rates=rates,
            p={name: rate.p for name, rate in rates.items()},
            true=true,
            true_p={name: difference.p for name, difference in true.items()},
            needed=_needed(
                rates[RATES[0]], (not_ok.gained + not_ok.lost) / not_ok.n, true.get(RATES[0]), len(of_first)
            ),
        )

    def _true(self, of_first: Indices, of_second: Indices, name: str) -> Difference | None:
        """The difference of true rates of pairs of rows; ``None`` where one side has no human label."""
        if not (self.is_labelled[of_first].any() and self.is_labelled[of_second].any()):
            return None
        if self.is_labelled[of_first].all() and self.is_labelled[of_second].all():  # people alone decide
            hits = counted(name, self.human)
            exact = paired_rate(pairs_of(hits[of_first], hits[of_second], self.inputs[of_first]))
            values = (exact.first.value or 0.0, exact.second.value or 0.0)
            return Difference(first=values[0], second=values[1], difference=exact.difference,
                              low=exact.low, high=exact.high, p=exact.p)  # fmt: skip
        classes = self._classes(of_first, name), self._classes(of_second, name)
        predicted = self._shares(of_first, classes[0]), self._shares(of_second, classes[1])
        return true_difference(*classes, predicted)

    def _classes(self, rows: Indices, name: str, hits: Mask | None = None) -> list[LabelledClass]:
        """Counts of the human labels of some rows, by label of the metric. ``hits``: other rows that count."""
        hits = counted(name, self.human) if hits is None else hits
        classes = []
        for code, label in self.output.classes.items():
            in_class = rows[self.output.fine[rows] == code]
            if len(in_class):
                labelled = in_class[self.is_labelled[in_class]]
                assumed = self._assumed(code, hits)
                stratum = LabelledClass(label=label, rows=len(in_class), labels=len(labelled),
                                    count=int(hits[labelled].sum()), assumed=assumed)  # fmt: skip
                classes.append(stratum)
        return classes

    def _assumed(self, code: int, hits: Mask) -> float:
        """The share that counts of all labelled rows of a label of the metric, for systems without such a row."""
        labelled = (self.output.fine == code) & self.is_labelled
        return float(hits[labelled].mean()) if labelled.any() else 0.0

    def _shares(self, rows: Indices, classes: Sequence[LabelledClass]) -> Floats:
        """The share of each row's class that counts. *Shape:* (rows,)."""
        by_label = {stratum.label: stratum.share for stratum in classes}
        table = np.zeros(max(self.output.classes) + 1)
        for code, label in self.output.classes.items():
            table[code] = by_label.get(label, 0.0)
        return np.asarray(table[self.output.fine[rows]], np.float64)

    def agreement(self) -> list[Agreement]:
        """How often the metric is right: its FINE and ROUGH labels, then each label."""
        if not self.human_labels:
            return []
        rows = np.flatnonzero(self.output.fine >= 0)
        right = {"rough": (self.human != 0) == (self.output.fine != 0)}
        if self.output.has_sides and not (self.human == -1).any():
            right = {"fine": self.human == self.output.fine, **right}
        agreements = []
        for name, hits in right.items():
            value, low, high = true_rate(self._classes(rows, name, hits))
            labels = int(self.is_labelled[rows].sum())
            agreements.append(Agreement(name=name, labels=labels, value=value, low=low, high=high))
        for stratum in self._classes(rows, "", next(iter(right.values()))):
            if stratum.labels:
                low, high = stratum.limits_of(stratum.labels)
                agreements.append(
                    Agreement(name=stratum.label, labels=stratum.labels, value=stratum.share, low=low, high=high)
                )
        return agreements


def _needed(pair: PairedRate, changed: float, true: Difference | None, pairs: int) -> int | None:
    """See :attr:`ComparedPair.needed`; of a true difference, with as large a share of the rows labelled."""
    if true is not None:
        return pairs_needed_for(true, pairs)
    return pairs_needed(pair.first.value or 0.0, pair.second.value or 0.0, changed)


def rate_masks(output: LabelledOutput) -> dict[str, Mask]:
    """The rows that count for each rate that the metric has. bool, *Shape:* (rows,) each."""
    names = rates_of(output.scored.sides) if output.has_sides else RATES[:1]
    masks = {name: counted(name, output.fine) for name in names}
    column = output.output.columns.output(CONTRADICTED.removesuffix("_rate"))
    if output.scored.has(column) and output.scored.array(column).null_count < len(output):
        lengths = pc.fill_null(pc.list_value_length(output.scored.array(column)), 0)
        masks[CONTRADICTED] = np.asarray(lengths.to_numpy(zero_copy_only=False)) > 0
    return masks
