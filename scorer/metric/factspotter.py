"""Facts and texts as FactSpotter reads them (Zhang, Balalau & Manolescu, Findings of EMNLP 2023, section 4).

Its classifier decides of one triple at a time whether a text says it, and reads both as one string:
``predicate: p, subject: s, object: o, sentence: t``. No template is involved.

The string is written as the authors' training code writes it: in lower case, transliterated to ASCII, the text without
``?!.`` and blanks at its ends and with single blanks. Two things that their code finds done in its data are done here:
``_`` becomes a blank, and a predicate is divided where a capital follows a small letter (``birthPlace``).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..errors import MissingDependencyError, install_hint
from .fact_templates import split_camel_case
from .facts import Triple


def plain_parts(triple: Triple) -> Triple:
    """The parts of a triple as the classifier reads them."""
    subject, value = (part.replace("_", " ") for part in (triple.subject, triple.object))
    return Triple(*map(_plain, (subject, split_camel_case(triple.predicate), value)))


def describe(plain: Triple) -> str:
    """The parts of :func:`plain_parts` in their places."""
    return f"predicate: {plain.predicate}, subject: {plain.subject}, object: {plain.object}"


def first_text(description: str) -> str:
    """The first half of the string that the classifier reads; the text follows after one blank."""
    return f"{description}, sentence:"


def plain_text(text: str) -> str:
    """A text as the classifier reads it."""
    plain = _plain(text.lower().strip("?!. "))
    return " ".join(plain.strip(" .?").split())  # the transliteration turns an ellipsis into stops, for instance


def _plain(text: str) -> str:
    """ASCII in lower case."""
    return (text if text.isascii() else str(transliteration()(text))).lower().strip()


@cache
def transliteration() -> Any:
    """Unicode to ASCII. The package has had one version since 2019, so the same text always gives the same string.

    Raises:
        MissingDependencyError: the extra ``factspotter`` is not installed.
    """
    try:
        from text_unidecode import unidecode
    except ImportError as e:
        raise MissingDependencyError(
            f"the protocol factspotter transliterates texts to ASCII ({e}); {install_hint('factspotter')}"
        ) from e
    return unidecode
