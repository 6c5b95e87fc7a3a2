"""BLEU, chrF and TER of each text against its references, by sacrebleu (extra ``stats``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import MissingDependencyError

COLUMNS = ("sacrebleu_bleu", "sacrebleu_chrf", "sacrebleu_ter")
"""The score columns, 0 to 100 (TER may exceed 100). TER is an error rate: lower is better."""


class Overlap:
    """The three metrics by sentence, with sacrebleu's defaults; BLEU uses the effective order, since texts are short.

    Raises:
        MissingDependencyError: sacrebleu is not installed.
    """

    def __init__(self) -> None:
        try:
            from sacrebleu.metrics import BLEU, CHRF, TER
        except ImportError as e:
            raise MissingDependencyError("the overlap baseline needs sacrebleu: pip install 'd2t-scorer[stats]'") from e
        self._metrics: list[Any] = [BLEU(effective_order=True), CHRF(), TER()]

    @property
    def signature(self) -> str:
        """The signatures that sacrebleu gives for the settings of each metric."""
        return " ".join(f"{metric.name}[{metric.get_signature()}]" for metric in self._metrics)

    def scores(
        self, texts: Sequence[str | None], references: Sequence[Sequence[str] | None]
    ) -> npt.NDArray[np.float64]:
        """Scores of each text, float64, *Shape:* (rows, 3); NaN if there is no text or no reference."""
        result = np.full((len(texts), len(COLUMNS)), np.nan)
        for row, (text, refs) in enumerate(zip(texts, references, strict=True)):
            known = [reference for reference in refs or () if reference]
            if text is None or not known:
                continue
            # A blank text has no token to align, which sacrebleu's TER does not expect.
            result[row] = (
                [metric.sentence_score(text, known).score for metric in self._metrics]
                if text.strip()
                else (0.0, 0.0, 100.0)
            )
        return result
