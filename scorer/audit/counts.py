"""Counts of rows and facts by group, added up window by window while a run is scanned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE
from .states import STATES

FACT_CLASSES = (*((n, n) for n in range(1, 10)), (10, None))
LENGTH_CLASSES = ((0, 49), (50, 99), (100, 149), (150, 199), (200, 299), (300, 499), (500, 999), (1000, None))
Classes = Sequence[tuple[int, int | None]]
Ints = npt.NDArray[np.integer[Any]]


class Table:
    """Counts by group and class, both of which may grow."""

    def __init__(self, classes: int = 1) -> None:
        self._counts = np.zeros((1, classes), np.int64)

    def add(self, group: Any, value: Any, groups: int, classes: int) -> None:
        """Count what has these codes. *Shape:* (n,) each.

        Args:
            groups, classes: numbers of codes that exist by now.
        """
        counted = np.bincount(np.asarray(group, np.int64) * classes + value, minlength=groups * classes)
        held = self._counts.shape
        if held[0] < groups or held[1] < classes:
            wider = classes if held[1] >= classes else 2 * classes
            grown = np.zeros((max(groups, held[0]), max(wider, held[1])), np.int64)
            grown[: held[0], : held[1]] = self._counts
            self._counts = grown
        self._counts[:groups, :classes] += counted.reshape(groups, classes)

    def table(self, groups: int, classes: int) -> npt.NDArray[np.int64]:
        """The counts as int64, *Shape:* (groups, classes)."""
        found = np.zeros((groups, classes), np.int64)
        counts = self._counts[:groups, :classes]
        found[: counts.shape[0], : counts.shape[1]] = counts
        return found


@dataclass(frozen=True)
class FactCounts:
    """Facts by group and predicate. ``checked``: those asked of a text; ``omitted``: of these; ``all``: every fact that
    could be read."""

    checked: Table = field(default_factory=Table)
    omitted: Table = field(default_factory=Table)
    all: Table = field(default_factory=Table)


@dataclass(frozen=True)
class RowCounts:
    """Rows by group. ``states``: see :mod:`scorer.audit.states`. ``errors``, ``notes``: by kind. ``reused``: with a
    label of an earlier run. ``facts``, ``lengths``: labelled rows by class and FINE label, see :meth:`by_class`."""

    states: Table = field(default_factory=lambda: Table(STATES))
    errors: Table = field(default_factory=Table)
    notes: Table = field(default_factory=Table)
    reused: Table = field(default_factory=Table)
    facts: Table = field(default_factory=lambda: Table(len(FACT_CLASSES) * len(FINE)))
    lengths: Table = field(default_factory=lambda: Table(len(LENGTH_CLASSES) * len(FINE)))


def add_classes(table: Table, classes: Classes, group: Ints, value: Ints, fine: Ints, groups: int) -> None:
    """Count labelled rows by the class of a value and their label; values below the first class are left out."""
    place = np.searchsorted([least for least, _ in classes], value, side="right") - 1
    chosen = (place >= 0) & (fine >= 0)
    table.add(group[chosen], place[chosen] * len(FINE) + fine[chosen], groups, len(classes) * len(FINE))


def class_counts(table: Table, classes: Classes, groups: int) -> npt.NDArray[np.int64]:
    """What :func:`add_classes` counted. int64, *Shape:* (groups, classes, labels)."""
    return table.table(groups, len(classes) * len(FINE)).reshape(groups, len(classes), len(FINE))


def named(counts: Ints, names: Sequence[str]) -> dict[str, int]:
    """Counts by name, most frequent first; what does not occur is left out. *Shape:* (names,)."""
    values = counts.tolist()
    return {names[i]: values[i] for i in sorted(range(len(names)), key=lambda i: (-values[i], names[i])) if values[i]}
