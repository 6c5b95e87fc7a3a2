"""True rates of all rows and of groups: a few human labels, and the metric's label of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..metric import Sides
from ..metric.verdict import FINE
from ..stats.post_stratified import LabelledClass, estimate, random_labels
from ..storage.location import Location
from ..system.codec import Record
from .label_figures import Codes, Indices, Mask
from .sampling import LabelledOutput, read_items, read_labels

RATES = ("not_ok_rate", "omission_rate", "hallucination_rate")
_SIDE = {"omission_rate": 1, "hallucination_rate": 2}
"""The bit of a FINE code that a rate counts."""


class TrueRate(Record, frozen=True, kw_only=True):
    """One rate of all rows or of a group, estimated from human labels."""

    rate: str
    """Name of the rate."""
    group: str | None
    """Name of the group; ``None`` for all rows."""
    rows: int
    """Rows of the group."""
    labels: int
    """Rows of the group with a human label."""
    metric: float
    """The metric's own rate."""
    value: float
    """The estimated true rate."""
    low: float
    """Lower limit of its 95 % interval."""
    high: float
    """Upper limit of its 95 % interval."""
    random_labels: int
    """Labels of random rows that would give as narrow an interval without the metric."""
    classes: tuple[LabelledClass, ...]
    """Counts of the human labels, by label of the metric."""


class RateReport(Record, frozen=True, kw_only=True):
    """Output of ``scorer rate``."""

    schema: int = 2
    """Version of the format."""
    path: str
    """Name of the output."""
    signature: str | None
    """Signature of the run; ``None`` if the files have none."""
    finished: bool
    """Whether the run is complete."""
    rows: int
    """Rows of the output."""
    labels: int
    """Rows with a human label."""
    by: str | None
    """Column of the groups."""
    rates: list[TrueRate]
    """Rates of all rows, then of the groups."""


def rate(
    out: Location | Sequence[Location],
    name: str,
    labels: Sequence[Path],
    by: str | None,
    note: Callable[[str], None],
    allow_partial: bool = False,
) -> RateReport:
    """The true rates of an output, see :func:`.sampling.read_labels`, and of the groups of a column.

    Args:
        labels: files of ``scorer sample`` with labels of this output.
        note: called with each remark for the reader of the figures.

    Raises:
        ScorerError: the output or the labels cannot be used.
    """
    output = read_labels(out, name, (by,) if by else (), allow_partial)
    if not output.scored.finished:
        note(f"{name} is not finished: the rates cover only the shards that are done")
    human = read_all_labels(output, labels)
    if any(label == "not_OK" for label in human.values()):
        note("some labels are not_OK, which names no side: there are no rates of omission and hallucination")
    return RateReport(
        path=name,
        signature=output.scored.signature,
        finished=output.scored.finished,
        rows=len(output),
        labels=len(human),
        by=by,
        rates=true_rates(output, human, by),
    )


def rates_of(sides: Sides) -> tuple[str, ...]:
    """The rates that a run of these sides has."""
    return tuple(name for name in RATES if sides == "both" or name in ("not_ok_rate", f"{sides}_rate"))


def read_all_labels(output: LabelledOutput, files: Sequence[Path]) -> dict[int, str]:
    """Read the human labels of several files, by row.

    Raises:
        InputError: two files disagree, or one cannot be used.
    """
    labels: dict[int, str] = {}
    for file in files:
        labels_of_file = read_items(output, file)
        if differ := [row for row in labels.keys() & labels_of_file.keys() if labels[row] != labels_of_file[row]]:
            raise InputError(
                f"--labels {file} has other labels for {len(differ):,} rows of another --labels file; agree on one"
            )
        labels |= labels_of_file
    return labels


def true_rates(output: LabelledOutput, labels: Mapping[int, str], by: str | None = None) -> list[TrueRate]:
    """The rates of all rows, then of each group of a column in order; groups without any label are left out.

    Args:
        labels: human labels by row.

    Raises:
        InputError: no row of a label of the metric is labelled, so that its rows would not be represented.
    """
    rows = np.array(list(labels), np.int64)
    human = np.array([FINE.index(label) if label in FINE else -1 for label in labels.values()], np.int64)
    for code, label in output.classes.items():
        if not (output.fine[rows] == code).any():
            raise InputError(
                f"no row that the metric calls {label} has a human label, so that its "
                f"{int((output.fine == code).sum()):,} rows are not represented; label at least one of them"
            )
    groups: list[tuple[str | None, Mask]] = [(None, np.ones(len(output), bool))]
    if by is not None:
        codes, names = output.groups(by)
        groups += [(name, codes == code) for code, name in enumerate(names)]
    # Rates that both the metric and the labels have.
    rates = rates_of(output.scored.sides)
    if not output.has_sides or (human < 0).any():
        rates = RATES[:1]
    return [figure for name in rates for figure in _rates(output, name, groups, rows, counted(name, human))]


def counted(name: str, fine: Codes | Indices) -> Mask:
    """Mask of the rows that a rate counts, by FINE codes. A row without a label (-1) is not_OK, of neither side."""
    return fine != 0 if name == RATES[0] else (fine >= 0) & (fine & _SIDE[name] > 0)


def _rates(
    output: LabelledOutput, name: str, groups: Sequence[tuple[str | None, Mask]], labelled: Indices, hits: Mask
) -> Iterator[TrueRate]:
    """A rate of all rows, the first group, and of the groups with labels.

    Args:
        labelled: numbers of the rows with a human label. *Shape:* (labels,).
        hits: whether the human label counts. *Shape:* (labels,).
    """
    predicted = counted(name, output.fine)
    shares: dict[str, float] = {}  # of all rows that count, for classes without a label in a group
    for group, inside in groups:
        if not inside[labelled].any():
            continue
        classes = []
        for code, label in output.classes.items():
            of_class = inside & (output.fine == code)
            if size := int(of_class.sum()):
                in_class = of_class[labelled]
                count, assumed = int((in_class & hits).sum()), shares.get(label, 0.0)
                stratum = LabelledClass(
                    label=label, rows=size, labels=int(in_class.sum()), count=count, assumed=assumed
                )
                classes.append(stratum)
        shares = shares or {stratum.label: stratum.share for stratum in classes}
        value, low, high = estimate(classes)
        yield TrueRate(
            rate=name,
            group=group,
            rows=int(inside.sum()),
            labels=sum(stratum.labels for stratum in classes),
            metric=float(predicted[inside].mean()),
            value=value,
            low=low,
            high=high,
            random_labels=random_labels(value, high - low, int(inside.sum())),
            classes=tuple(classes),
        )
