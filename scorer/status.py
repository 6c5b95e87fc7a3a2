"""Status of a check, shared by the packages ``inference`` and ``metric``, and the error of a row."""

from __future__ import annotations

import re
from typing import NamedTuple

SCORED, TOO_LONG, NOT_FINITE, OUT_OF_MEMORY = 0, 1, 2, 3

STATUS_NAMES = ("scored", "too_long", "not_finite", "out_of_memory")
"""Names by status code; all but the first are the ``error`` of the row, followed by a colon and the side."""

NOT_TOKENISED = 1 << 32
"""Number of tokens of a text that was not tokenised, because its bytes alone make it too long for any pair."""

_LINE = re.compile("line ([0-9]+)")


class RowError(NamedTuple):
    """The reason why a row has no label.

    Attributes:
        kind: one of the documented errors, by which rows are counted.
        sides: of the checks without a result, the omission side first; empty for an error of the input.
        line: number in a text file, from 1, of a row that cannot be read; ``None`` for all others.
    """

    kind: str
    sides: tuple[str, ...] = ()
    line: int | None = None

    @property
    def text(self) -> str:
        """The value of the output column: ``too_long:omission+hallucination``, ``malformed_row:line 3``."""
        detail = "+".join(self.sides) if self.line is None else f"line {self.line}"
        return f"{self.kind}:{detail}" if detail else self.kind

    @classmethod
    def parse(cls, text: str) -> RowError:
        """The error of a value of the output column."""
        kind, _, detail = text.partition(":")
        if line := _LINE.fullmatch(detail):
            return cls(kind, line=int(line[1]))
        return cls(kind, tuple(detail.split("+")) if detail else ())
