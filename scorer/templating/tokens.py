"""Words, numbers and dates of a string, as keys that are equal for different spellings.

``Kilometres`` and ``kilometers``, ``Köln`` and ``KOLN``, ``50,000`` and ``fifty thousand``, ``1982.0`` and ``1982``,
``1923-11-18`` and ``the 18th of November 1923`` have the same keys. Everything that is neither letter nor digit only
separates. Keys are for comparing: the template keeps what the reference wrote.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from ..metric.terms import NUMBER_WORDS, SCALES


class Token(NamedTuple):
    """A word, number or date: its key, and its position in the string in code points."""

    key: str
    start: int
    end: int


_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
)  # fmt: skip
ORDINALS = {word: i for i, word in enumerate(_ORDINALS, 1)}

_FIRST_HALF = ("january", "february", "march", "april", "may", "june")
_MONTHS = (*_FIRST_HALF, "july", "august", "september", "october", "november", "december")
MONTHS = {form: i for i, name in enumerate(_MONTHS, 1) for form in (name, name[:3])} | {"sept": 9}
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?(?!\d)"
# At most one blank between parts: otherwise a run of blanks would cause backtracking over every split.
_DATE = re.compile(
    rf"""(?<![\w.,])(?:
      (?P<y>\d{{4}})(?P<sep>[-/. ])(?P<m>\d{{2}})(?P=sep)(?P<d>\d{{2}})
    | (?:the\s)?(?P<d2>{_DAY})\s?(?:of\s)?[-,]?\s?(?P<m2>{_MONTH})\s?(?:of\s)?[-,]?\s?(?P<y2>\d{{4}})
    | (?P<m3>{_MONTH})\s?(?:the\s)?(?P<d3>{_DAY})\s?,?\s?(?:of\s)?(?P<y3>\d{{4}})
    | (?P<a>\d{{1,2}})(?P<sep2>[-/.])(?P<b>\d{{1,2}})(?P=sep2)(?P<y4>\d{{4}})
    )(?!\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_PIECE = re.compile(
    r"""(?P<ordinal>(?<![\d.,])\d+(?=(?:st|nd|rd|th)\b))(?:st|nd|rd|th)
    | (?P<number>(?:(?<!\S)-)?(?:\d{1,3}(?:,\d{3}){1,12}(?![,\d])(?:\.\d+)?
        |\d+(?:[.,]\d+)?(?:[eE][+-]?\d{1,3}\b)?))
    | (?P<word>(?:[^\W\d_][\u0300-\u036f]*)+)""",
    re.VERBOSE,
)
_LETTERS = str.maketrans({"ø": "o", "đ": "d", "ð": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th", "ı": "i", "ŋ": "ng"})
_UNIT = re.compile(r"(.*(?:met|lit))(?:re|er)s?")


@lru_cache(maxsize=1 << 16)
def fold(word: str) -> str:
    """A word without case and diacritics; metres and litres in the singular and in American spelling."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    plain = plain.casefold().translate(_LETTERS)
    unit = _UNIT.fullmatch(plain)
    return f"{unit[1]}er" if unit else plain


def tokens(text: str) -> list[Token]:
    """The tokens of a string, in order; a date or number in several words has single blanks between them.

    The key of a number is ``#`` and its value, so that digits are never joined across two numbers; leading zeros are
    kept, since such a number is a name. The key of a date is ``@`` and the date in ISO 8601. ``3/4/1999``, which could
    be two dates, gives three numbers.
    """
    found: list[Token] = []
    position = 0
    for match in _DATE.finditer(text):
        key = _date_key(match)
        if key is not None:
            found += _pieces(text, position, match.start())
            found.append(Token(key, *match.span()))
            position = match.end()
    found += _pieces(text, position, len(text))
    return _spelt_out(found, text)


def _date_key(match: re.Match[str]) -> str | None:
    parts = match.groupdict()
    if parts["y"]:
        year, month, day = parts["y"], int(parts["m"]), int(parts["d"])
    elif parts["y4"]:
        year, day, month = parts["y4"], int(parts["a"]), int(parts["b"])
        if month > 12:
            day, month = month, day
        elif day <= 12 and day != month:
            return None
    else:
        n = "2" if parts["y2"] else "3"
        year, name = parts["y" + n], parts["m" + n].rstrip(".").lower()
        month, day = MONTHS[name], int(re.sub(r"\D", "", parts["d" + n]))
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"@{int(year):04}-{month:02}-{day:02}"


def _pieces(text: str, start: int, end: int) -> list[Token]:
    found = []
    for match in _PIECE.finditer(text, start, end):
        if match["word"]:
            key = fold(match["word"])
        elif match["ordinal"]:
            key = f"{_number_key(match['ordinal'].lstrip('0') or '0')}th"
        else:
            key = _number_key(match["number"])
        found.append(Token(key, *match.span()))
    return found


def _number_key(number: str) -> str:
    digits = "".join(str(unicodedata.decimal(c, c)) for c in number)
    whole, comma, rest = digits.partition(",")
    if comma and ("," in rest or len(rest.partition(".")[0]) == 3):
        digits = digits.replace(",", "")
    elif comma:
        digits = f"{whole}.{rest}"
    if digits.isdigit():
        return f"#{digits}"
    return _value_key(Decimal(digits))


def _value_key(value: Decimal) -> str:
    """The value without trailing zeros, and without an exponent unless it would have very many zeros."""
    written = f"{value:f}" if abs(value.adjusted()) <= 40 else f"{value:e}"
    return "#" + (written.rstrip("0").rstrip(".") if "." in written and "e" not in written else written)


def _spelt_out(found: list[Token], text: str) -> list[Token]:
    """Join the words of a number (``two hundred and fifty``, ``5.2 million``) to one token; ordinals in words and in
    digits get the same key.

    ``one`` alone stays a word, since it is usually a pronoun.
    """
    result: list[Token] = []
    i = 0
    while i < len(found):
        end, value = _number_run(found, i, text)
        if value is not None and not (end == i + 1 and found[i].key == "one"):
            result.append(Token(_value_key(value), found[i].start, found[end - 1].end))
            i = end
        else:
            token = found[i]
            ordinal = ORDINALS.get(token.key)
            result.append(token if ordinal is None else token._replace(key=f"#{ordinal}th"))
            i += 1
    return result


def _number_run(found: list[Token], start: int, text: str) -> tuple[int, Decimal | None]:
    """The end of a number in words that begins at a token, and its value; ``None`` if none begins there.

    A number in digits begins one only if a scale (such as "million") follows.
    """
    first = found[start].key
    total, part, i = Decimal(0), Decimal(0), start
    if first.startswith("#") and not first.endswith("th"):
        scale = found[start + 1].key if start + 1 < len(found) else ""
        if (scale not in SCALES and scale != "hundred") or not _adjoin(found, start, text):
            return start, None
        part, i = Decimal(first[1:]), start + 1
    elif first not in NUMBER_WORDS:
        return start, None
    last = i
    while i < len(found):
        key = found[i].key
        if i > start and not _adjoin(found, i - 1, text):
            break
        if key in NUMBER_WORDS:
            value = NUMBER_WORDS[key]
            fits = not part % 100 if value >= 10 or not part else not part % 10 and part % 100 != 10
            if not fits:
                break
            part += value
        elif key == "hundred" and 0 < part < 100:
            part *= 100
        elif key in SCALES and part:
            total, part = total + part * SCALES[key], Decimal(0)
        elif key == "and" and i > start and i + 1 < len(found) and found[i + 1].key in NUMBER_WORDS:
            if found[i - 1].key not in ("hundred", *SCALES):
                break
            i += 1
            continue
        else:
            break
        i += 1
        last = i
    return last, total + part


def _adjoin(found: list[Token], i: int, text: str) -> bool:
    """Whether only a blank or a hyphen is between a token and the next."""
    return text[found[i].end : found[i + 1].start] in (" ", "-", "\u00a0")
