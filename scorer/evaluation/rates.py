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
    """One rate of all rows (``group`` is ``None``) or of a group, with its 95 % interval. ``rows``, ``labels``: of it.
    ``metric``: the metric's own rate. ``random_labels``: labels of random rows for as narrow an interval without the
    metric. ``classes``: what the labels say of the rows of each label of the metric."""

    rate: str
    group: str | None
    rows: int
    labels: int
    metric: float
    value: float
    low: float
    high: float
    random_labels: int
    classes: tuple[LabelledClass, ...]


class RateReport(Record, frozen=True, kw_only=True):
    """Output of ``scorer rate``. ``by``: the column of the groups. ``labels``: rows with a human label."""

    schema: int = 2
    path: str
    signature: str | None
    finished: bool
    rows: int
    labels: int
    by: str | None
    rates: list[TrueRate]


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
    found = read_all_labels(output, labels)
    if any(label == "not_OK" for label in found.values()):
        note("some labels are not_OK, which names no side: there are no rates of omission and hallucination")
    return RateReport(
        path=name,
        signature=output.scored.signature,
        finished=output.scored.finished,
        rows=len(output),
        labels=len(found),
        by=by,
        rates=true_rates(output, found, by),
    )


def rates_of(sides: Sides) -> tuple[str, ...]:
    """The rates that a run of these sides has."""
    return tuple(name for name in RATES if sides == "both" or name in ("not_ok_rate", f"{sides}_rate"))


def read_all_labels(output: LabelledOutput, files: Sequence[Path]) -> dict[int, str]:
    """Human labels by row, of several files; an :class:`.InputError` where two disagree, or one cannot be used."""
    labels: dict[int, str] = {}
    for file in files:
        more = read_items(output, file)
        if differ := [row for row in labels.keys() & more.keys() if labels[row] != more[row]]:
            raise InputError(
                f"--labels {file} has other labels for {len(differ):,} rows of another --labels file; agree on one"
            )
        labels |= more
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
    return [one for name in rates for one in _rates(output, name, groups, rows, counted(name, human))]


def counted(name: str, fine: Codes | Indices) -> Mask:
    """Rows that a rate counts, by FINE codes. Without a label (-1) a row is not_OK, and names no side."""
    return fine != 0 if name == RATES[0] else (fine >= 0) & (fine & _SIDE[name] > 0)


def _rates(
    output: LabelledOutput, name: str, groups: Sequence[tuple[str | None, Mask]], labelled: Indices, hits: Mask
) -> Iterator[TrueRate]:
    """A rate of all rows, the first group, and of the groups with labels.

    Args:
        labelled: numbers of the rows with a human label. hits: those of them that count. *Shape:* (labels,) each.
    """
    own = counted(name, output.fine)
    shares: dict[str, float] = {}  # of all rows that count, for classes without a label in a group
    for group, inside in groups:
        if not inside[labelled].any():
            continue
        classes = []
        for code, label in output.classes.items():
            of_class = inside & (output.fine == code)
            if size := int(of_class.sum()):
                mine = of_class[labelled]
                count, assumed = int((mine & hits).sum()), shares.get(label, 0.0)
                one = LabelledClass(label=label, rows=size, labels=int(mine.sum()), count=count, assumed=assumed)
                classes.append(one)
        shares = shares or {one.label: one.share for one in classes}
        value, low, high = estimate(classes)
        yield TrueRate(
            rate=name,
            group=group,
            rows=int(inside.sum()),
            labels=sum(one.labels for one in classes),
            metric=float(own[inside].mean()),
            value=value,
            low=low,
            high=high,
            random_labels=random_labels(value, high - low, int(inside.sum())),
            classes=tuple(classes),
        )
