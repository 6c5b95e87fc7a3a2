"""Rows judged one at a time in plain Python, errors and the model included: what the columnar code must equal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from scipy.special import softmax
from tokenizers import Tokenizer

from tests.bundles import expected_logits
from tests.metric.reference import Expected, judge, pairs_of

Part = bytes | None
Row = tuple[list[tuple[Part, Part, Part] | None] | None, Part]
"""Triples and text of a row, as bytes; a triple that is ``None`` is a null struct."""


@dataclass
class Naive:
    """A bundle of :mod:`tests.bundles` in its default label order, in numpy."""

    bundle: Path

    def __post_init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(self.bundle / "tokenizer.json"))
        self._tokenizer.encode_special_tokens = True
        self._size = self._tokenizer.get_vocab_size()
        self._limit = json.loads((self.bundle / "bundle.json").read_text())["max_length"]

    def ids(self, premise: str, hypothesis: str) -> list[int]:
        one, other = (self._tokenizer.encode(t, add_special_tokens=False).ids for t in (premise, hypothesis))
        return [0, *one, 2, 2, *other, 2]

    def answer(self, premise: str, hypothesis: str) -> tuple[float, float, float]:
        c, n, e = softmax(expected_logits(self.ids(premise, hypothesis), self._size)).tolist()
        return c, n, e

    def judge(self, row: Row) -> tuple[Expected, float]:
        """The verdict, and by how much its closest check was decided."""
        triples, text = row
        found = _error(triples, text)
        if found is not None:
            return Expected(None, None, None, found, None), 1.0
        assert text is not None and triples is not None
        decoded = [tuple(part.decode().strip() for part in triple) for triple in triples]
        said = text.decode()
        if not said.strip():
            return judge(decoded, said, {}, "paper"), 1.0
        asked = pairs_of(decoded, said, "paper")
        long = {
            kind for kind, *pair in asked if sum(len(p) for p in pair) > 20_000 or len(self.ids(*pair)) > self._limit
        }
        if long:
            return Expected(None, None, None, f"too_long:{'+'.join(sorted(long, reverse=True))}", None), 1.0
        answers = {(p, h): self.answer(p, h) for _, p, h in asked}
        margin = min(abs(e - max(c, n)) for c, n, e in answers.values())
        return judge(decoded, said, answers, "paper"), margin


def _error(triples: list[tuple[Part, Part, Part] | None] | None, text: Part) -> str | None:
    if text is None:
        return "null_text"
    if not _is_utf8(text):
        return "invalid_utf8"
    whole = [triple for triple in triples or () if triple is not None and None not in triple]
    if any(not _is_utf8(part) for triple in whole for part in triple):
        return "invalid_utf8"
    if triples and (len(whole) < len(triples) or any(not part.decode().strip() for t in whole for part in t)):
        return "malformed_triples"
    return None if triples else "no_triples"


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
