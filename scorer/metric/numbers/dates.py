"""Dates and times of day of a text, in the formats that English texts and data have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_FIRST_HALF = ("january", "february", "march", "april", "may", "june")
_MONTHS = (*_FIRST_HALF, "july", "august", "september", "october", "november", "december")
MONTHS = {form: i for i, name in enumerate(_MONTHS, 1) for form in (name, name[:3])} | {"sept": 9}
_MONTH = rf"(?P<month>(?ai:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b)\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
_FORMATS = [
    re.compile(rf"(?<!\d[.,])(?<![\w-]){pattern}(?=T\d|(?!\w))")
    for pattern in (
        rf"{_YEAR}-(?P<month>[01]?\d)-(?P<day>[0-3]?\d)",
        rf"{_YEAR}/(?P<month>[01]?\d)/(?P<day>[0-3]?\d)",
        rf"{_DAY}(?:\sof)?[\s-]{_MONTH},?[\s-]{_YEAR}",
        rf"{_MONTH}\s{_DAY},?\s{_YEAR}",
        rf"{_YEAR},?\s{_MONTH}\s{_DAY}",
        rf"(?P<one>\d\d?)(?P<between>[/.])(?P<two>\d\d?)(?P=between){_YEAR}",
        rf"{_MONTH},?\s{_YEAR}",
        rf"{_YEAR},?\s{_MONTH}",
        rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])(?!-\d)",
        rf"{_DAY}(?:\sof)?\s{_MONTH}",
        rf"{_MONTH}\s{_DAY}",
    )
]
# What every date has: a month's name, or digits around the sign between year, month and day.
_HINT = re.compile(rf"[12]\d{{3}}[-/][01]?\d|\d[/.]\d\d?[/.][12]\d{{3}}|(?ai:{'|'.join(name[:3] for name in _MONTHS)})")
_LONGEST = 40
"""Characters that no date exceeds."""
_TIME = re.compile(
    r"(?<![\w:.,])(?:(?P<hour>[0-2]?\d):(?P<minute>[0-5]\d)(?::[0-5]\d)?(?:\s?(?P<half>(?i:[ap]m\b|[ap]\.m\b\.?)))?"
    r"|(?P<hour2>1?\d)\s?(?P<half2>(?i:[ap]m\b|[ap]\.m\b\.?)))(?![\w:])"
)
_NOON = 12 * 60


class Date(NamedTuple):
    """A date, or what a text says of one. ``readings``: (year, month, day), ``None`` for what is not said; two for
    ``3/7/1954``, which may be of March or of July."""

    start: int
    end: int
    readings: tuple[tuple[int | None, int | None, int | None], ...]

    def supports(self, said: Date) -> bool:
        """Whether this date of a fact has all that a text says."""
        return any(
            all(theirs is None or theirs == ours for ours, theirs in zip(own, other, strict=True))
            for own in self.readings
            for other in said.readings
        )


class Time(NamedTuple):
    """A time of day. ``minutes``: since midnight; ``sure``: whether it says which half of the day it is."""

    start: int
    end: int
    minutes: int
    sure: bool

    def supports(self, said: Time) -> bool:
        """Whether this time of a fact is the one that a text says."""
        if self.sure and said.sure:
            return self.minutes == said.minutes
        return self.minutes % _NOON == said.minutes % _NOON


def dates(text: str) -> Iterator[Date]:
    """The dates of a text, longer forms first; none overlap."""
    for first, last in _places(text):
        taken = bytearray(last - first)
        for pattern in _FORMATS:
            for match in pattern.finditer(text, first, last):
                start, end = match.span()
                if any(taken[start - first : end - first]):
                    continue
                if readings := _readings(match.groupdict()):
                    taken[start - first : end - first] = b"\1" * (end - start)
                    yield Date(start, end, readings)


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where dates may be: the formats together take as long as all else that is read of a text."""
    first = last = 0
    for match in _HINT.finditer(text):
        start, end = match.span()
        if start - _LONGEST > last:
            if last:
                yield first, last
            first = max(start - _LONGEST, 0)
        last = min(end + _LONGEST, len(text))
    if last:
        yield first, last


def _readings(found: dict[str, Any]) -> tuple[tuple[int | None, int | None, int | None], ...]:
    year = int(found["year"]) if found.get("year") else None
    if found.get("one"):
        one, two = int(found["one"]), int(found["two"])
        pairs: list[tuple[int, int | None]] = [(one, two), (two, one)]
    else:
        month = str(found["month"])
        pairs = [(MONTHS.get(month.lower()) or int(month), int(found["day"]) if found.get("day") else None)]
    possible = [(year, month, day) for month, day in pairs if 1 <= month <= 12 and (day is None or 1 <= day <= 31)]
    return tuple(dict.fromkeys(possible))


def times(text: str) -> Iterator[Time]:
    """The times of day of a text."""
    for match in _TIME.finditer(text):
        hour, minute = int(match["hour"] or match["hour2"]), int(match["minute"] or 0)
        half = (match["half"] or match["half2"] or "")[:1].lower()
        if hour > 23 or (half and not 1 <= hour <= 12):
            continue
        if half:
            hour = hour % 12 + (12 if half == "p" else 0)
        yield Time(*match.span(), hour * 60 + minute, bool(half) or not 1 <= hour <= 12)
