"""Token ids by word: texts repeat their words far more than themselves, so each word is tokenised once.

Byte-level BPE with GPT-2's splitting (RoBERTa's) never joins what stands on two sides of a blank: its pattern takes a
single blank only as the first character of a word. So the ids of a text are the ids of its words, each with the blank
before it, end to end. That holds for texts whose only white space is single blanks; others go to the tokenizer whole,
and a tokenizer of another build is never taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

# White space that is not a single blank between words, or a run too long to be worth keeping.
_WHOLE = re.compile(r"^ |[^\S ]| {2}|\S{100}| $")
_MOST_WORDS = 1 << 18


def blank_before_words(content: Mapping[str, Any]) -> str | None:
    """What to put before the second and later words of a text, or ``None`` for a tokenizer of another build.

    It is a blank, or nothing where the tokenizer itself prepends one to whatever it gets.

    Args:
        content: of tokenizer.json, checked.
    """
    before, model, normalizer = (content.get(key) or {} for key in ("pre_tokenizer", "model", "normalizer"))
    steps = normalizer.get("normalizers", [normalizer]) if normalizer else []
    prepends = bool(steps) and steps[-1].get("type") == "Prepend" and steps[-1].get("prepend") == " "
    # These look at no character beside its neighbours across a blank.
    harmless = all(step.get("type") in ("NFC", "Lowercase") for step in (steps[:-1] if prepends else steps))
    known = (
        before.get("type") == "ByteLevel"
        and not before.get("add_prefix_space", True)
        and before.get("use_regex", True)
        and model.get("type") == "BPE"
        and not any(model.get(key) for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"))
        and harmless
        and all(token.get("special") for token in content.get("added_tokens") or [])
    )
    return ("" if prepends else " ") if known else None


class _Numbers(dict[str, int]):
    """Word → number, counted up over both tables; remembers what came new."""

    def __init__(self, blank: str, fresh: list[str]) -> None:
        self._blank = blank
        self._fresh = fresh

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self._fresh)
        self._fresh.append(self._blank + word)
        return number


class WordTokens:
    """Keeps the ids of words. Used by one thread.

    Args:
        tokenizer: set up as texts want it.
        blank: what :func:`blank_before_words` says of its file.
    """

    def __init__(self, tokenizer: Tokenizer, blank: str) -> None:
        self._tokenizer = tokenizer
        self._blank = blank
        self._words: list[str] = []
        self._ids: npt.NDArray[np.int32]
        self._offsets: npt.NDArray[np.int64]
        self._forget()

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Ids of texts end to end (int32), and the offsets of each (int64, *Shape:* (texts + 1,))."""
        if len(self._words) > _MOST_WORDS:
            self._forget()
        first, later, words = self._first, self._later, self._words
        numbers: list[int] = []
        ends: list[int] = []
        for text in texts:
            if _WHOLE.search(text):
                numbers.append(first[text])
            else:
                head, *rest = text.split(" ")
                numbers.append(first[head])
                numbers += map(later.__getitem__, rest)
            ends.append(len(numbers))
        self._learn(words)
        chosen = np.array(numbers, np.int64)
        lengths = np.diff(self._offsets)[chosen]
        token_ends = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(int(token_ends[-1])) - np.repeat(token_ends[:-1], lengths)
        ids = self._ids[np.repeat(self._offsets[chosen], lengths) + within]
        return ids, np.concatenate([[0], token_ends[np.array(ends, np.int64)]]) if ends else np.zeros(1, np.int64)

    def _learn(self, words: list[str]) -> None:
        fresh = words[len(self._offsets) - 1 :]
        if not fresh:
            return
        lists = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(fresh, add_special_tokens=False)]
        more = np.fromiter(chain.from_iterable(lists), np.int32)
        ends = self._offsets[-1] + np.cumsum([len(ids) for ids in lists])
        self._ids = np.concatenate([self._ids, more])
        self._offsets = np.concatenate([self._offsets, ends])

    def _forget(self) -> None:
        self._words = []
        self._first = _Numbers("", self._words)
        self._later = _Numbers(self._blank, self._words)
        self._ids = np.empty(0, np.int32)
        self._offsets = np.zeros(1, np.int64)
