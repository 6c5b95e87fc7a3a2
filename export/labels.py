"""Which column of the logits is which label. Tools differ in the order, so it is read from the checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scorer.errors import CheckpointError, UsageError
from scorer.inference.bundle import LABELS

_WORDS = ", ".join(LABELS)


def label_order(
    id2label: object, given: Sequence[str] | None, where: str, log: Callable[[str], None]
) -> tuple[str, ...]:
    """The three labels, in lower case, in the order of the logits' columns.

    ``id2label``: the checkpoint's own mapping from column to name, in any order and case. ``given``: what the user
    says instead; it wins, and a disagreement is logged.

    Raises:
        UsageError: ``given`` is not a permutation of the three labels.
        CheckpointError: nothing was given, and ``id2label`` does not name each of the three labels exactly once.
    """
    own = _read(id2label)
    if given is not None:
        chosen = tuple(str(label).strip().lower() for label in given)
        if sorted(chosen) != sorted(LABELS):
            raise UsageError(f"--labels is {','.join(given)!r}; give the three words {_WORDS} in the logits' order")
        if own is not None and own != chosen:
            log(f"warning: --labels {','.join(chosen)} overrides the checkpoint's own order {','.join(own)}")
        return chosen
    if own is None:
        raise CheckpointError(
            f"{where}: id2label is {id2label!r}, which does not name each of {_WORDS} once; look up the order in the "
            f"model card and give it, for instance --labels {','.join(LABELS)}"
        )
    return own


def _read(id2label: object) -> tuple[str, ...] | None:
    if not isinstance(id2label, Mapping):
        return None
    try:
        by_column: dict[int, Any] = {int(column): name for column, name in id2label.items()}
    except (TypeError, ValueError):
        return None
    names = tuple(str(by_column[column]).strip().lower() for column in sorted(by_column))
    return names if sorted(by_column) == [0, 1, 2] and sorted(names) == sorted(LABELS) else None
