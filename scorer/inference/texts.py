"""Texts to token ids, each distinct text once.

A check is a pair, and a text takes part in many pairs (once with every fact). The ids of a pair are the ids of its two
texts with constant ids around them, so pairs are joined from parts; that this equals the tokenizer's own pair encoding
is proved on the bundle's probes whenever one is loaded.

Text is data: a literal ``</s>`` or ``<mask>`` in it is characters. The flag for that is not saved in
``tokenizer.json``, so it is set here, at every load, together with truncation and padding off.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from .bundle import PairLayout
from .sessions import first_line
from .word_cache import WordTokens, blank_before_words, is_byte_level, keep_whole

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class PairForm:
    """What surrounds the two texts of a pair before they are tokenised.

    :data:`PLAIN` is the tokenizer's own pair encoding. :data:`SPACED` is what the released code of Dušek & Kasner
    (2020) feeds the model: one string ``premise </s></s> hypothesis``, whose blanks around the separators reach the
    tokenizer. :data:`JOINED` is one text with a blank between its halves.
    """

    after_first: str = ""
    before_second: str = ""


PLAIN = PairForm()
SPACED = PairForm(" ", " ")
JOINED = PairForm("", " ")


def form_of(layout: PairLayout) -> PairForm:
    """The form of the pairs that a bundle's model was trained on."""
    if not layout.one_string:
        return PLAIN
    return JOINED if layout.one_text else SPACED


@dataclass
class Tokens:
    """Token ids of a list of texts, end to end.

    ``ids``: int32, *Shape:* (tokens,). ``offsets``: int64, *Shape:* (texts + 1,). ``oversized``: bool, *Shape:*
    (texts,), texts too long for any pair, which were not tokenised (or only their beginning was, for truncation).
    ``unknown``: bool, *Shape:* (texts,), texts with characters that the tokenizer does not know; ``None`` where it
    knows all.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    oversized: npt.NDArray[np.bool_]
    unknown: npt.NDArray[np.bool_] | None = None

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each text. *Shape:* (texts,), int64."""
        return np.diff(self.offsets)


class Tokenized(Protocol):
    """What a bundle says of its tokenizer."""

    @property
    def layout(self) -> PairLayout: ...

    @property
    def max_length(self) -> int: ...

    @property
    def tokenizer_file(self) -> Path: ...


class TextTokenizer:
    """The tokenizer of a bundle, set up for texts that are data.

    Raises:
        BundleError: tokenizer.json is not a tokenizer, or joining parts is not its pair encoding.
    """

    def __init__(self, bundle: Tokenized) -> None:
        self._layout = bundle.layout
        self._max_length = bundle.max_length
        self._where = bundle.tokenizer_file
        self._text, content = self._read()
        self._tokenizer = self._load()
        self._tokenizer.encode_special_tokens = True
        self._unknown = _unknown_id(content, self._tokenizer)
        blank = blank_before_words(content)
        self._words = WordTokens(self._tokenizer, blank, keep_whole(content)) if blank is not None else None
        vocabulary = self._tokenizer.get_vocab(with_added_tokens=False)
        longest = max(map(len, vocabulary), default=1)
        # A byte-level token spells one byte a character. In the others a character has up to four bytes, and what a
        # normalizer drops or a word of unknown characters takes no room: a text has twice as much to be sure.
        self._bytes_a_token = longest if is_byte_level(content) else 8 * longest

    def encode(self, texts: Sequence[str], *, keep_beginnings: bool = False) -> Tokens:
        """Tokenise texts without special tokens.

        A text with more bytes than ``max_length`` longest tokens does not fit and is not tokenised, whatever its size;
        with ``keep_beginnings`` (for truncation) as much of it is as could fit.
        """
        limit = self._max_length * self._bytes_a_token
        # A text of n characters has at least n bytes, so most are cleared without encoding them.
        oversized = np.array([len(t) > limit or (len(t) * 4 > limit and len(t.encode()) > limit) for t in texts], bool)
        kept = list(texts)
        for i in np.flatnonzero(oversized).tolist():
            kept[i] = kept[i][:limit] if keep_beginnings else ""
        with self._errors():
            if self._words is not None:
                return self._marked(*self._words.encode(kept), oversized)
            encodings = self._tokenizer.encode_batch_fast(kept, add_special_tokens=False)
        lists = [encoding.ids for encoding in encodings]
        offsets = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(ids) for ids in lists], out=offsets[1:])
        ids = np.fromiter(chain.from_iterable(lists), np.int32, int(offsets[-1]))
        return self._marked(ids, offsets, oversized)

    def _marked(
        self, ids: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], oversized: npt.NDArray[np.bool_]
    ) -> Tokens:
        """The tokens, with the texts that have unknown ones."""
        if self._unknown is None:
            return Tokens(ids, offsets, oversized)
        before = np.concatenate([[0], np.cumsum(ids == self._unknown)])
        return Tokens(ids, offsets, oversized, before[offsets[1:]] > before[offsets[:-1]])

    def prove(self, premises: Sequence[str], hypotheses: Sequence[str], form: PairForm = SPACED) -> None:
        """Compare joined parts with the tokenizer's own reading of the pairs.

        Args:
            form: proved in addition to the tokenizer's own pair encoding.

        Raises:
            BundleError: they differ.
        """
        reference = self._load()
        separator = "".join(reference.id_to_token(token) or "?" for token in self._layout.separator)
        for premise, hypothesis in zip(premises, hypotheses, strict=True):
            a, b = self._ordered(premise, hypothesis)
            with self._errors():
                if form == JOINED:
                    pairs = [(JOINED, reference.encode(f"{a} {b}").ids)]
                else:
                    pairs = [(PLAIN, reference.encode(a, b).ids)]
                if form == SPACED:
                    pairs.append((SPACED, reference.encode(f"{a} {separator} {b}").ids))
            for one, expected in pairs:
                joined = self.join(premise, hypothesis, one)
                if joined != expected:
                    raise BundleError(
                        f"{self._where}: the pair ({premise!r}, {hypothesis!r}) joined from its parts gives {joined}, "
                        f"but the tokenizer itself {expected}; this tokenizer cannot be used"
                        + (" for pairs that are written as one string" if one != PLAIN else "")
                    )

    def join(self, premise: str, hypothesis: str, form: PairForm = PLAIN) -> list[int]:
        """The ids of one pair, special tokens included."""
        layout = self._layout
        first, second = self._ordered(premise, hypothesis)
        tokens = self.encode([first + form.after_first, form.before_second + second])
        a, b = np.split(tokens.ids, [int(tokens.offsets[1])])
        return [*layout.prefix, *a.tolist(), *layout.separator, *b.tolist(), *layout.suffix]

    def _ordered(self, premise: str, hypothesis: str) -> tuple[str, str]:
        """The two texts of a pair as the layout has them."""
        return (hypothesis, premise) if self._layout.hypothesis_first else (premise, hypothesis)

    def _read(self) -> tuple[str, dict[str, Any]]:
        """The file's text and what it says."""
        try:
            text = self._where.read_text("utf-8")
            content = json.loads(text)
        except OSError as e:
            raise BundleError(f"{self._where} cannot be read: {e.strerror or e}; copy the bundle again") from e
        except (ValueError, RecursionError) as e:
            raise BundleError(f"{self._where} is not a tokenizer ({e}); export the bundle again") from e
        if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
            raise BundleError(f"{self._where} is not a tokenizer: it has no model; export the bundle again")
        return text, content

    def _load(self) -> Tokenizer:
        from tokenizers import Tokenizer

        with self._errors("is not a tokenizer"):
            tokenizer = Tokenizer.from_str(self._text)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @contextmanager
    def _errors(self, what: str = "cannot tokenise") -> Iterator[None]:
        """What the library raises, as an error of the bundle."""
        try:
            yield
        except (UnicodeError, MemoryError):
            raise  # an error of the text, or of the machine
        except Exception as e:  # the library raises plain Exception for every kind of damage
            raise BundleError(f"{self._where} {what} ({first_line(e)}); export the bundle again") from e
        except BaseException as e:
            if type(e).__name__ != "PanicException":  # of pyo3, which has no public name for it
                raise
            raise BundleError(f"{self._where} {what} (panic: {first_line(e)}); export the bundle again") from e


def _unknown_id(content: dict[str, Any], tokenizer: Tokenizer) -> int | None:
    """The id that WordPiece and Unigram give to what they do not know; ``None`` for others, which spell it in bytes."""
    model = content["model"]
    if is_byte_level(content) or model.get("byte_fallback"):
        return None
    if model.get("type") == "WordPiece":
        return tokenizer.token_to_id(str(model.get("unk_token")))
    found = model.get("unk_id") if model.get("type") == "Unigram" else None
    return found if isinstance(found, int) else None
