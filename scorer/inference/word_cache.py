"""Token ids by word: texts repeat their words far more than themselves, so each word is tokenised once.

Three builds of tokenizers never join what stands on two sides of a blank. Byte-level BPE with GPT-2's splitting
(RoBERTa's, ModernBERT's): its pattern takes a single blank only as the first character of a word, so that the ids of a
text are the ids of its words, each with the blank before it, end to end. WordPiece after BERT's splitting: blanks are
dropped, so that the ids are those of the bare words. Unigram after Metaspace (XLM-R's, DeBERTa-v3's): a blank becomes
the first character of a word, also of a first word, so that the ids are those of the bare words too.

That holds for texts whose only white space is single blanks; others go to the tokenizer whole, and a tokenizer of
another build is never taken apart. Unigram's normalizers also rewrite compatibility characters, some of which are or
contain white space, and join a combining mark to a blank before it; so for Unigram only a text in NFKC without
invisible characters and without a word that begins with a combining mark is taken apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# White space that is not a single blank between words, or a run too long to be worth keeping.
_WHOLE = re.compile(r"^ |[^\S ]| {2}|\S{100}| $")
_MOST_WORDS = 1 << 18
# Control and format characters, which Unigram's normalizers drop or turn into blanks.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff]"
)


def is_byte_level(content: Mapping[str, Any]) -> bool:
    """Whether tokens are written as bytes, one a character. ``content``: of tokenizer.json, checked."""
    return any(step.get("type") == "ByteLevel" for step in _steps(content, "pre_tokenizer", "pretokenizers"))


def blank_before_words(content: Mapping[str, Any]) -> str | None:
    """What to put before the second and later words of a text, or ``None`` for a tokenizer of another build.

    It is a blank, or nothing where the tokenizer itself prepends one to whatever it gets, or drops it.

    Args:
        content: of tokenizer.json, checked.
    """
    if not all(map(_within_words, content.get("added_tokens") or [])):
        return None
    model = content.get("model") or {}
    builds = {"BPE": _byte_level, "WordPiece": _wordpiece, "Unigram": _unigram}
    build = builds.get(str(model.get("type", "BPE")))
    return build(content, model) if build is not None else None


def keep_whole(content: Mapping[str, Any]) -> Callable[[str], bool]:
    """Which texts go to the tokenizer whole, where :func:`blank_before_words` allows to take texts apart at all."""
    if (content.get("model") or {}).get("type") == "Unigram":
        return _whole_for_unigram
    return _whole


def _whole(text: str) -> bool:
    return _WHOLE.search(text) is not None


def _within_words(token: Mapping[str, Any]) -> bool:
    """An added token that is not text (special), or that lies in one word wherever it is found in a text that is taken
    apart; such a text has no two blanks in a row."""
    content = str(token.get("content"))
    anywhere = not any(token.get(key) for key in ("lstrip", "rstrip", "single_word"))
    return bool(token.get("special")) or (anywhere and (not re.search(r"\s", content) or "  " in content))


def _steps(content: Mapping[str, Any], part: str, inner: str) -> list[Mapping[str, Any]]:
    found = content.get(part) or {}
    return list(found.get(inner, [found])) if found else []


def _byte_level(content: Mapping[str, Any], model: Mapping[str, Any]) -> str | None:
    before = content.get("pre_tokenizer") or {}
    steps = _steps(content, "normalizer", "normalizers")
    prepends = bool(steps) and steps[-1].get("type") == "Prepend" and steps[-1].get("prepend") == " "
    # These never look across a blank.
    harmless = all(step.get("type") in ("NFC", "Lowercase") for step in (steps[:-1] if prepends else steps))
    known = (
        before.get("type") == "ByteLevel"
        and not before.get("add_prefix_space", True)
        and before.get("use_regex", True)
        and not any(model.get(key) for key in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"))
        and harmless
    )
    return ("" if prepends else " ") if known else None


def _wordpiece(content: Mapping[str, Any], model: Mapping[str, Any]) -> str | None:
    steps = _steps(content, "normalizer", "normalizers")
    before = _steps(content, "pre_tokenizer", "pretokenizers")
    harmless = ("BertNormalizer", "NFC", "NFD", "Lowercase", "StripAccents")
    known = all(step.get("type") in harmless for step in steps)
    return "" if known and [step.get("type") for step in before] == ["BertPreTokenizer"] else None


def _unigram(content: Mapping[str, Any], model: Mapping[str, Any]) -> str | None:
    steps = _steps(content, "normalizer", "normalizers")
    *before, last = _steps(content, "pre_tokenizer", "pretokenizers") or [{}]
    harmless = ("Precompiled", "NFKC", "NFC", "Lowercase", "Strip", "Replace")
    known = (
        all(step.get("type") in harmless for step in steps)
        and all(step.get("type") in ("WhitespaceSplit", "Punctuation") for step in before)
        and last.get("type") == "Metaspace"
        and last.get("prepend_scheme", "always") == "always"
        and last.get("add_prefix_space", True)
        and last.get("split", True)
    )
    return "" if known and not any(step.get("type") == "Punctuation" for step in before) else None


def _whole_for_unigram(text: str) -> bool:
    if _WHOLE.search(text):
        return True
    if text.isascii() and text.isprintable():
        return False
    return (
        not unicodedata.is_normalized("NFKC", text)
        or _INVISIBLE.search(text) is not None
        or "\u2581" in text
        or any(unicodedata.category(word[:1] or " ").startswith("M") for word in text.split(" "))
    )


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
        whole: what :func:`keep_whole` says of it.
    """

    def __init__(self, tokenizer: Tokenizer, blank: str, whole: Callable[[str], bool] = _whole) -> None:
        self._tokenizer = tokenizer
        self._blank = blank
        self._whole = whole
        self._words: list[str] = []
        self._ids: npt.NDArray[np.int32]
        self._offsets: npt.NDArray[np.int64]
        self._forget()

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Ids of texts end to end (int32), and the offsets of each (int64, *Shape:* (texts + 1,))."""
        if len(self._words) > _MOST_WORDS:
            self._forget()
        first, later, words, whole = self._first, self._later, self._words, self._whole
        numbers: list[int] = []
        ends: list[int] = []
        for text in texts:
            if whole(text):
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
