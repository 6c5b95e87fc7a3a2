"""Meaning of the columns of the logits: read from the checkpoint or given by the user, and never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.errors import CheckpointError, UsageError
from scorer.inference.bundle import BINARY, LABELS, NLI, SCORE, THRESHOLD, WIDTHS, Scheme

_WORDS = ", ".join(LABELS)
_SUPPORTED = ("entailment", "entailed", "supported", "consistent")
"""Words that name the one of two labels which says that the premise supports the hypothesis, if the other label is the
same word with *not* or *non* before it."""


@dataclass(frozen=True)
class Task:
    """The task of a checkpoint as the user states it; ``None``: as the checkpoint states it."""

    labels: Sequence[str] | None = None
    """Labels of the logits' columns, in their order."""
    scheme: str | None = None
    """Meaning of the logits: ``nli``, ``binary`` or ``score``."""
    supported: str | None = None
    """The one of two labels that means that the premise supports the hypothesis."""
    threshold: float | None = None
    """Lowest P(entailment) that passes, with one or two logits."""
    hypothesis_first: bool = False
    """Whether the model was trained with the hypothesis as the first text."""
    one_text: bool = False
    """Whether it was trained on one text, both with a blank between them (:data:`FACTSPOTTER`); the second of its two
    labels means supported, unless ``supported`` names it."""


AS_STATED = Task()
FACTSPOTTER = Task(scheme=BINARY, hypothesis_first=True, one_text=True)
"""FactSpotter's classifier: a triple and a text as one text; class 1 means that the text says the triple."""


def choose_scheme(
    config: Mapping[str, Any], task: Task, where: str, log: Callable[[str], None], logits: int | None = None
) -> Scheme:
    """The scheme by which the logits of a checkpoint are read.

    Args:
        task: the user's statements.
        logits: number of logits of a pair, by the weights; used if the config names no labels.

    Raises:
        UsageError: the fields of ``task`` contradict each other or the number of logits.
        CheckpointError: neither ``task`` nor ``id2label`` gives the meaning of the logits.
    """
    names = _names(config.get("id2label"))
    columns = len(names) if names is not None else config.get("num_labels", logits or 2)
    kind = task.scheme
    if kind is not None and kind not in WIDTHS:
        raise UsageError(f"--scheme is {kind!r}; choose from {', '.join(WIDTHS)}")
    if kind is None:
        kind = {1: SCORE, 2: BINARY}.get(columns, NLI)
        if kind == SCORE:
            raise CheckpointError(
                f"{where}: the model has one logit, a score of anything; if it scores how far the premise supports the "
                "hypothesis, say so with --scheme score"
            )
    width = WIDTHS[kind]
    if columns != width:
        raise UsageError(f"--scheme {kind} needs {width} logits, and {where} has {columns}; remove it or change it")
    if kind == NLI:
        if task.supported is not None or task.threshold is not None:
            raise UsageError("--supported and --threshold are for models with one or two logits; remove them")
        return Scheme(NLI, _label_order(names, config.get("id2label"), task.labels, where, log))
    threshold = THRESHOLD if task.threshold is None else float(task.threshold)
    if not 0 < threshold < 1:
        raise UsageError(f"--threshold is {task.threshold!r}; give a probability between 0 and 1")
    labels = tuple(task.labels) if task.labels is not None else names or tuple(f"label_{i}" for i in range(width))
    labels = tuple(label.strip().lower() for label in labels)
    if len(labels) != width or len(set(labels)) != width:
        raise UsageError(f"--labels is {','.join(labels)!r}; the model has {width} logits")
    if kind == SCORE:
        if task.supported is not None:
            raise UsageError("--supported names one of two labels, and this model has one logit; remove it")
        return Scheme(SCORE, labels, None, threshold)
    supported = labels[1] if task.one_text and task.supported is None else task.supported
    return Scheme(BINARY, labels, _supported(labels, supported, where), threshold)


def _supported(labels: tuple[str, ...], supported: str | None, where: str) -> str:
    if supported is not None:
        if supported.strip().lower() not in labels:
            raise UsageError(f"--supported is {supported!r}; the labels are {', '.join(labels)}")
        return supported.strip().lower()
    for label, opposite in (labels, labels[::-1]):
        if label in _SUPPORTED and re.fullmatch(rf"(not|non)[ _-]?{label}", opposite):
            return label
    raise CheckpointError(
        f"{where}: of two labels, {' and '.join(labels)}, nothing says which means that the premise supports the "
        f"hypothesis; look it up in the model card and give it, for instance --supported {labels[1].upper()}"
    )


def _label_order(
    names: tuple[str, ...] | None,
    id2label: object,
    labels: Sequence[str] | None,
    where: str,
    log: Callable[[str], None],
) -> tuple[str, ...]:
    """The three labels, in lower case, in the order of the logits' columns: the user's ``labels``, or the ``names`` in
    the checkpoint's ``id2label``."""
    named_order = names if names is not None and sorted(names) == sorted(LABELS) else None
    if labels is None and named_order is None:
        raise CheckpointError(
            f"{where}: id2label is {id2label!r}, which does not name each of {_WORDS} once; look up the order in the "
            f"model card and give it, for instance --labels {','.join(LABELS)}"
        )
    if labels is None:
        return named_order or ()
    order = tuple(str(label).strip().lower() for label in labels)
    if sorted(order) != sorted(LABELS):
        raise UsageError(f"--labels is {','.join(labels)!r}; give the three words {_WORDS} in the logits' order")
    if named_order is not None and named_order != order:
        log(f"warning: --labels {','.join(order)} overrides the checkpoint's own order {','.join(named_order)}")
    return order


def _names(id2label: object) -> tuple[str, ...] | None:
    """The names of the columns in lower case; ``None`` where the columns are not 0, 1, ..."""
    if not isinstance(id2label, Mapping):
        return None
    try:
        by_column: dict[int, Any] = {int(column): name for column, name in id2label.items()}
    except (TypeError, ValueError):
        return None
    names = tuple(str(by_column[column]).strip().lower() for column in sorted(by_column))
    return names if names and sorted(by_column) == list(range(len(names))) else None
