"""Tokens of the overlap metrics, and counts of n-grams.

The tokenisation is that of NIST's ``mteval-v13`` scripts for Western languages, lower-cased, which the E2E challenge
uses for BLEU and NIST. For ROUGE-L, CIDEr and METEOR its script takes Stanford's tokenizer, and leaves out punctuation;
here they get the same tokens as BLEU without those that have no letter and no digit, and with clitics apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

Ngram = tuple[str, ...]

_ENTITIES = (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
_SPLITS = (
    (re.compile(r"([{-~\[-` -&(-+:-@/])"), r" \1 "),  # all punctuation of ASCII but . , - and '
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
_CLITIC = re.compile(r"(?<=\w)(n't|'(?:s|re|ve|ll|d|m))$")


def tokenise(text: str) -> list[str]:
    """The tokens of a text, lower-cased, punctuation included."""
    for written, meant in _ENTITIES:
        text = text.replace(written, meant)
    text = f" {text} "
    for pattern, replacement in _SPLITS:
        text = pattern.sub(replacement, text)
    return text.lower().split()


def words_of(tokens: Sequence[str]) -> list[str]:
    """The tokens that have a letter or a digit; *isn't* is two words, *is* and *n't*, and *there's* too."""
    parts = (part for token in tokens for part in _CLITIC.sub(r" \1", token).split())
    return [part for part in parts if any(char.isalnum() for char in part)]


def ngrams(tokens: Sequence[str], n: int) -> Counter[Ngram]:
    """How often each n-gram occurs."""
    return Counter(zip(*(tokens[i:] for i in range(n)), strict=False))
