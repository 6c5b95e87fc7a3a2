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
class Answers:
    """Statements of a user about a checkpoint's logits and pairs; ``None``: as the checkpoint says.

    ``labels``: of the columns, in their order. ``scheme``: ``nli``, ``binary`` or ``score``. ``supported``: of two
    labels the one that means that the premise supports the hypothesis. ``threshold``: the least P(entailment) that
    passes. ``hypothesis_first``: whether the model was trained with the hypothesis as the first text. ``one_text``:
    whether it was trained on one text, both with a blank between them, and two labels of which the second means
    supported unless ``supported`` names it (:data:`FACTSPOTTER`).
    """

    labels: Sequence[str] | None = None
    scheme: str | None = None
    supported: str | None = None
    threshold: float | None = None
    hypothesis_first: bool = False
    one_text: bool = False


NO_ANSWERS = Answers()
FACTSPOTTER = Answers(scheme=BINARY, hypothesis_first=True, one_text=True)
"""The classifier of FactSpotter: a triple and a text as one text, class 1 where the text says the triple."""


def choose_scheme(
    config: Mapping[str, Any], answers: Answers, where: str, log: Callable[[str], None], logits: int | None = None
) -> Scheme:
    """The scheme by which the logits of a checkpoint are read.

    Args:
        logits: of a pair, by the weights; what counts where the config names no labels, as old ones do not.

    Raises:
        UsageError: ``answers`` contradict each other or the number of logits.
        CheckpointError: neither ``answers`` nor ``id2label`` say what the logits mean.
    """
    own = _names(config.get("id2label"))
    columns = len(own) if own is not None else config.get("num_labels", logits or 2)
    kind = answers.scheme
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
        if answers.supported is not None or answers.threshold is not None:
            raise UsageError("--supported and --threshold are for models with one or two logits; remove them")
        return Scheme(NLI, _label_order(own, config.get("id2label"), answers.labels, where, log))
    threshold = THRESHOLD if answers.threshold is None else float(answers.threshold)
    if not 0 < threshold < 1:
        raise UsageError(f"--threshold is {answers.threshold!r}; give a probability between 0 and 1")
    labels = tuple(answers.labels) if answers.labels is not None else own or tuple(f"label_{i}" for i in range(width))
    labels = tuple(label.strip().lower() for label in labels)
    if len(labels) != width or len(set(labels)) != width:
        raise UsageError(f"--labels is {','.join(labels)!r}; the model has {width} logits")
    if kind == SCORE:
        if answers.supported is not None:
            raise UsageError("--supported names one of two labels, and this model has one logit; remove it")
        return Scheme(SCORE, labels, None, threshold)
    given = labels[1] if answers.one_text and answers.supported is None else answers.supported
    return Scheme(BINARY, labels, _supported(labels, given, where), threshold)


def _supported(labels: tuple[str, ...], given: str | None, where: str) -> str:
    if given is not None:
        if given.strip().lower() not in labels:
            raise UsageError(f"--supported is {given!r}; the labels are {', '.join(labels)}")
        return given.strip().lower()
    for one, other in (labels, labels[::-1]):
        if one in _SUPPORTED and re.fullmatch(rf"(not|non)[ _-]?{one}", other):
            return one
    raise CheckpointError(
        f"{where}: of two labels, {' and '.join(labels)}, nothing says which means that the premise supports the "
        f"hypothesis; look it up in the model card and give it, for instance --supported {labels[1].upper()}"
    )


def _label_order(
    names: tuple[str, ...] | None, id2label: object, given: Sequence[str] | None, where: str, log: Callable[[str], None]
) -> tuple[str, ...]:
    """The three labels, in lower case, in the order of the logits' columns: those that the user gives, or ``names`` of
    the checkpoint's ``id2label``."""
    own = names if names is not None and sorted(names) == sorted(LABELS) else None
    if given is None and own is None:
        raise CheckpointError(
            f"{where}: id2label is {id2label!r}, which does not name each of {_WORDS} once; look up the order in the "
            f"model card and give it, for instance --labels {','.join(LABELS)}"
        )
    if given is None:
        return own or ()
    chosen = tuple(str(label).strip().lower() for label in given)
    if sorted(chosen) != sorted(LABELS):
        raise UsageError(f"--labels is {','.join(given)!r}; give the three words {_WORDS} in the logits' order")
    if own is not None and own != chosen:
        log(f"warning: --labels {','.join(chosen)} overrides the checkpoint's own order {','.join(own)}")
    return chosen


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
