"""Texts to token ids: each distinct text once, and of most texts each distinct word once.

A text takes part in many pairs, once with every fact. The ids of a pair are those of its two texts with constant ids
around them, so pairs are joined from parts; that this equals the tokenizer's own pair encoding is checked on the
bundle's probes whenever one is loaded.

Text is data: a literal ``</s>`` or ``<mask>`` in it is characters, by a flag that ``tokenizer.json`` does not save.

Three builds of tokenizers never join what stands on two sides of a blank. Byte-level BPE with GPT-2's splitting
(RoBERTa's, ModernBERT's): its pattern takes a single blank only as the first character of a word, so that the ids of a
text are the ids of its words, each with the blank before it, end to end. WordPiece after BERT's splitting: blanks are
dropped, so that the ids are those of the bare words. Unigram after Metaspace (XLM-R's, DeBERTa-v3's): a blank becomes
the first character of a word, also of a first word, so that the ids are those of the bare words too.

That holds for texts whose only white space is single blanks; others go to the tokenizer whole. Unigram's normalizers
also rewrite compatibility characters, some of which are or contain white space, and join a combining mark to a blank
before it; so for Unigram only a text in NFKC without invisible characters and without a word that begins with a
combining mark is taken apart.
"""

from __future__ import annotations

import json
import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, first_line
from .bundle import Bundle

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# White space that is not a single blank between words, or a run too long to be worth keeping.
_WHOLE = re.compile(r"^ |[^\S ]| {2}|\S{100}| $")
_CACHE_CHARACTERS, _OVERHEAD = 1 << 24, 64
"""Most characters in the cache of words, and of texts that cannot be split, each counted with its overhead."""
# Control and format characters, which Unigram's normalizers drop or turn into blanks.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff0-\uffff]"
)


class PairFormat(Enum):
    """Blanks after the first and before the second text of a pair when they are tokenised."""

    SEPARATE = ("", "")
    """The tokenizer's own pair encoding."""
    ONE_STRING = (" ", " ")
    """The input of the released code of Dušek & Kasner (2020): one string ``premise </s></s> hypothesis``, in which the
    blanks around the separators reach the tokenizer."""
    NO_SEPARATOR = ("", " ")
    """One text with a blank between its halves."""

    def __init__(self, after_first: str, before_second: str) -> None:
        self.after_first, self.before_second = after_first, before_second


@dataclass
class Tokens:
    """Token ids of a list of texts, end to end."""

    ids: npt.NDArray[np.int32]
    """*Shape:* (tokens,)."""
    offsets: npt.NDArray[np.int64]
    """*Shape:* (texts + 1,); text *i* owns ``ids[offsets[i]:offsets[i + 1]]``."""
    oversized: npt.NDArray[np.bool_]
    """Texts too long for any pair, *Shape:* (texts,); not tokenised, or only their beginning for truncation."""
    unknown: npt.NDArray[np.bool_]
    """Texts with characters that the tokenizer does not know, *Shape:* (texts,)."""

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each text. *Shape:* (texts,), int64."""
        return np.diff(self.offsets)


class TextTokenizer:
    """The tokenizer of a bundle, set up for texts that are data; :class:`BundleError` if it is none."""

    def __init__(self, bundle: Bundle) -> None:
        from tokenizers import Tokenizer

        self._turn = threading.Lock()
        self._layout = bundle.layout
        self._max_length = bundle.max_length
        self._where = bundle.path / "tokenizer.json"
        with self._errors("is not a tokenizer"):
            self._tokenizer = Tokenizer.from_file(str(self._where))
        content = json.loads(self._where.read_bytes())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._blank = blank_before_words(content)
        self._words = WordTokens(self._tokenizer, self._blank) if self._blank is not None else None
        is_byte_level = any(step.get("type") == "ByteLevel" for step in _steps(content, "pre_tokenizer"))
        model, unknown = content["model"], None
        if not is_byte_level and model.get("type") == "WordPiece":
            unknown = self._tokenizer.token_to_id(str(model.get("unk_token")))
        elif not is_byte_level and model.get("type") == "Unigram" and not model.get("byte_fallback"):
            unknown = model.get("unk_id")
        self._unknown = -1 if unknown is None else unknown
        longest = max(map(len, self._tokenizer.get_vocab(with_added_tokens=False)), default=1)
        # A byte-level token spells one byte a character. In the others a character has up to four bytes, and what a
        # normalizer drops or a word of unknown characters takes no room: a text has twice as much to be sure.
        self._bytes_a_token = longest if is_byte_level else 8 * longest

    def encode(self, texts: Sequence[str], *, keep_beginnings: bool = False) -> Tokens:
        """Tokenise texts without special tokens.

        A text with more bytes than ``max_length`` longest tokens does not fit and is not tokenised, whatever its size;
        with ``keep_beginnings`` (for truncation) as much of it is tokenised as could fit. Threads wait for one another.
        """
        limit = self._max_length * self._bytes_a_token
        # A text of n characters has at least n bytes, so most are cleared without encoding them.
        oversized = np.array([len(t) > limit or (len(t) * 4 > limit and len(t.encode()) > limit) for t in texts], bool)
        tokenised = list(texts)
        for i in np.flatnonzero(oversized).tolist():
            tokenised[i] = tokenised[i][:limit] if keep_beginnings else ""
        with self._turn, self._errors():
            if self._words is not None and self._blank is not None and self._words.characters > _CACHE_CHARACTERS:
                self._words = WordTokens(self._tokenizer, self._blank)
            if self._words is not None:
                ids, offsets = self._words.encode(tokenised)
            else:
                ids, offsets = _encode_whole(self._tokenizer, tokenised)
        unknown_before = np.concatenate([[0], np.cumsum(ids == self._unknown)])
        return Tokens(ids, offsets, oversized, unknown_before[offsets[1:]] > unknown_before[offsets[:-1]])

    def check_pair_encoding(
        self, premises: Sequence[str], hypotheses: Sequence[str], pair_format: PairFormat = PairFormat.ONE_STRING
    ) -> None:
        """Raise :class:`BundleError` where joined parts are not the tokenizer's own reading of a pair, in its own pair
        encoding and in ``pair_format``."""
        tokenizer = self._tokenizer
        separator = "".join(tokenizer.id_to_token(token) or "?" for token in self._layout.separator)
        formats = {pair_format} if pair_format == PairFormat.NO_SEPARATOR else {PairFormat.SEPARATE, pair_format}
        for premise, hypothesis in zip(premises, hypotheses, strict=True):
            a, b = (hypothesis, premise) if self._layout.hypothesis_first else (premise, hypothesis)
            readings = {
                PairFormat.SEPARATE: (a, b),
                PairFormat.ONE_STRING: (f"{a} {separator} {b}",),
                PairFormat.NO_SEPARATOR: (f"{a} {b}",),
            }
            for form in formats:
                tokenizer.encode_special_tokens = False  # a separator in a string is one
                with self._errors():
                    expected = tokenizer.encode(*readings[form]).ids
                tokenizer.encode_special_tokens = True
                if (joined := self.join(premise, hypothesis, form)) != expected:
                    raise BundleError(
                        f"{self._where}: the pair ({premise!r}, {hypothesis!r}) joined from its parts gives {joined}, "
                        f"but the tokenizer itself {expected}; this tokenizer cannot be used"
                        + (" for pairs that are written as one string" if form != PairFormat.SEPARATE else "")
                    )

    def join(self, premise: str, hypothesis: str, pair_format: PairFormat = PairFormat.SEPARATE) -> list[int]:
        """The ids of one pair, special tokens included."""
        layout = self._layout
        first, second = (hypothesis, premise) if layout.hypothesis_first else (premise, hypothesis)
        tokens = self.encode([first + pair_format.after_first, pair_format.before_second + second])
        a, b = np.split(tokens.ids, [int(tokens.offsets[1])])
        return [*layout.prefix, *a.tolist(), *layout.separator, *b.tolist(), *layout.suffix]

    @contextmanager
    def _errors(self, problem: str = "cannot tokenise") -> Iterator[None]:
        try:
            yield
        except (UnicodeError, MemoryError):
            raise  # an error of the text, or of the machine
        except BaseException as e:  # the library raises plain Exception for every kind of damage, and panics of pyo3
            if not isinstance(e, Exception) and type(e).__name__ != "PanicException":
                raise
            raise BundleError(f"{self._where} {problem} ({first_line(e)}); export the bundle again") from e


def _encode_whole(tokenizer: Tokenizer, texts: list[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Ids of texts end to end (int32), and the offsets of each (int64, *Shape:* (texts + 1,))."""
    lists = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(ids) for ids in lists], out=offsets[1:])
    return np.fromiter(chain.from_iterable(lists), np.int32, int(offsets[-1])), offsets


_HARMLESS = {
    "BPE": ("NFC", "Lowercase"),
    "WordPiece": ("BertNormalizer", "NFC", "NFD", "Lowercase", "StripAccents"),
    "Unigram": ("Precompiled", "NFKC", "NFC", "Lowercase", "Strip", "Replace"),
}
"""Normalizers that never look across a blank, by the type of the model."""


def blank_before_words(content: Mapping[str, Any]) -> str | None:
    """Prefix of the second and later words of a text, or ``None`` for a tokenizer of another build.

    It is a blank, or nothing where the tokenizer itself prepends a blank to every text, or drops blanks.

    Args:
        content: the object in tokenizer.json.
    """
    for token in content.get("added_tokens") or []:
        # An added token that is not special must lie within one word of a text that is split into words; such a text
        # has no two blanks in a row.
        spelling = str(token.get("content"))
        within_word = not re.search(r"\s", spelling) or "  " in spelling
        anywhere = not any(token.get(key) for key in ("lstrip", "rstrip", "single_word"))
        if not token.get("special") and not (within_word and anywhere):
            return None
    model = content.get("model") or {}
    kind = str(model.get("type", "BPE"))
    steps, (*earlier, last) = _steps(content, "normalizer"), _steps(content, "pre_tokenizer") or [{}]
    prepends = kind == "BPE" and bool(steps) and (steps[-1].get("type"), steps[-1].get("prepend")) == ("Prepend", " ")
    if kind not in _HARMLESS or any(
        step.get("type") not in _HARMLESS[kind] for step in steps[: -1 if prepends else None]
    ):
        return None
    if kind == "BPE":
        is_supported = not earlier and last.get("type") == "ByteLevel" and not last.get("add_prefix_space", True)
        unsupported = ("dropout", "continuing_subword_prefix", "end_of_word_suffix")
        is_supported = is_supported and last.get("use_regex", True) and not any(model.get(key) for key in unsupported)
    elif kind == "WordPiece":
        is_supported = not earlier and last.get("type") == "BertPreTokenizer"
    else:
        is_supported = (
            all(step.get("type") == "WhitespaceSplit" for step in earlier) and last.get("type") == "Metaspace"
        )
        is_supported = is_supported and last.get("prepend_scheme", "always") == "always"
        is_supported = is_supported and last.get("add_prefix_space", True) and last.get("split", True)
    return (" " if kind == "BPE" and not prepends else "") if is_supported else None


def _steps(content: Mapping[str, Any], part: str) -> list[Mapping[str, Any]]:
    """The steps of a normalizer or pre-tokenizer."""
    steps = content.get(part) or {}
    return list(steps.get("normalizers", steps.get("pretokenizers", [steps]))) if steps else []


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


class WordTokens:
    """A cache of the ids of words, for one thread at a time. ``blank``: as :func:`blank_before_words` returns it."""

    def __init__(self, tokenizer: Tokenizer, blank: str) -> None:
        self._tokenizer = tokenizer
        self._boundary = f"\n{blank}"
        """Replaces a blank: no text that is split into words has a line end."""
        is_unigram = type(tokenizer.model).__name__ == "Unigram"
        self._goes_whole: Callable[[str], object] = _whole_for_unigram if is_unigram else _WHOLE.search
        self._numbers: defaultdict[str, int] = defaultdict()
        """Number of each word (with the blank before it) and of each text that is not split, in order of appearance."""
        self._numbers.default_factory = self._numbers.__len__
        self.characters = 0
        """Characters in the cache, with the overhead of each word."""
        self._ids = np.empty(0, np.int32)
        self._offsets = np.zeros(1, np.int64)

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """As :func:`_encode_whole`."""
        numbers: list[int] = []
        ends: list[int] = []
        for text in texts:
            if self._goes_whole(text):
                numbers.append(self._numbers[text])
            else:
                numbers += map(self._numbers.__getitem__, text.replace(" ", self._boundary).split("\n"))
            ends.append(len(numbers))
        if new_words := list(islice(self._numbers, len(self._offsets) - 1, None)):
            self.characters += sum(map(len, new_words)) + _OVERHEAD * len(new_words)
            new_ids, offsets = _encode_whole(self._tokenizer, new_words)
            self._ids = np.concatenate([self._ids, new_ids])
            self._offsets = np.concatenate([self._offsets, self._offsets[-1] + offsets[1:]])
        word_numbers = np.array(numbers, np.int64)
        lengths = np.diff(self._offsets)[word_numbers]
        token_ends = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(int(token_ends[-1])) - np.repeat(token_ends[:-1], lengths)
        ids = self._ids[np.repeat(self._offsets[word_numbers], lengths) + within]
        return ids, np.concatenate([[0], token_ends[np.array(ends, np.int64)]]) if ends else np.zeros(1, np.int64)
