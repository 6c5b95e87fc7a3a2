"""The file that ``scorer rate --save`` writes: true rates of one output, for gates and for later runs.

An audit reads the rates, a later ``scorer rate --calibration`` reads what the labels said about the metric.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError
from ..system.files import read_small
from ..system.formats import RATES_SCHEMA

LARGEST_FILE = 16 << 20
T = TypeVar("T")


@dataclass(frozen=True)
class SavedClass:
    """What labels said of the rows that the metric calls ``predicted``: share ``value`` of them is really 1, from an
    effective number of ``size`` labels (``None``: all rows were labelled)."""

    predicted: bool
    value: float
    size: float | None
    labels: int


@dataclass(frozen=True)
class SavedRate:
    """A true rate of all rows (``group`` is ``None``) or of one group, with its 95 % interval."""

    rate: str
    group: str | None
    rows: int
    labels: int
    metric: float
    value: float
    low: float
    high: float
    classes: tuple[SavedClass, ...]


@dataclass(frozen=True)
class SavedStratum:
    """A stratum of the sample and its rows in the output that the labels are of."""

    label: str
    low: float | None
    high: float | None
    rows: int


@dataclass(frozen=True)
class RatesFile:
    """``out``, ``signature``, ``rows``: the output. ``source``: ``labels``, ``column`` or ``calibration``. ``by``: the
    column of the groups."""

    out: str
    signature: str
    rows: int
    source: str
    by: str | None
    rates: tuple[SavedRate, ...]
    strata: tuple[SavedStratum, ...]

    def to_json(self) -> bytes:
        """The file."""
        return (json.dumps({"schema": RATES_SCHEMA, **asdict(self)}, indent=1, allow_nan=False) + "\n").encode()

    @classmethod
    def read(cls, path: Path, option: str) -> RatesFile:
        """Read a file.

        Raises:
            InputError: it cannot be read, is not such a file, or of another schema; names the field.
        """
        where = f"{option} {path}"
        try:
            content = json.loads(read_small(path, LARGEST_FILE))
        except OSError as e:
            raise InputError(f"{where}: {e.strerror or e}; give a file that `scorer rate --save` wrote") from e
        except (ValueError, RecursionError) as e:
            raise InputError(f"{where} is not JSON: {str(e)[:100]}; give a file that `scorer rate --save` wrote") from e
        if not isinstance(content, dict) or content.get("schema") != RATES_SCHEMA:
            found = content.get("schema") if isinstance(content, dict) else type(content).__name__
            raise InputError(
                f"{where}: schema {found!r}, but this program reads {RATES_SCHEMA}; run `scorer rate` again"
            )
        source = _Fields(content, where)
        return cls(
            source.get("out", _text),
            source.get("signature", _text),
            source.get("rows", _count),
            source.get("source", _text),
            source.get("by", _optional(_text)),
            tuple(_rate(line) for line in source.items("rates")),
            tuple(_stratum(line) for line in source.items("strata")),
        )


class _Fields:
    """An object of the file; every field is checked as it is read."""

    def __init__(self, content: Any, where: str) -> None:
        if not isinstance(content, Mapping):
            raise InputError(f"{where} is {type(content).__name__}, not an object; run `scorer rate --save` again")
        self._content, self._where = content, where

    def get(self, name: str, convert: Callable[[Any], T]) -> T:
        try:
            return convert(self._content[name])
        except (KeyError, TypeError, ValueError) as e:
            found = repr(self._content.get(name, "missing"))[:60]
            raise InputError(f"{self._where}: {name} is {found}; run `scorer rate --save` again") from e

    def items(self, name: str) -> list[_Fields]:
        found = self.get(name, _list)
        return [_Fields(item, f"{self._where}: {name}[{position}]") for position, item in enumerate(found)]


def _rate(line: _Fields) -> SavedRate:
    return SavedRate(
        line.get("rate", _text),
        line.get("group", _optional(_text)),
        line.get("rows", _count),
        line.get("labels", _count),
        line.get("metric", _share),
        line.get("value", _share),
        line.get("low", _share),
        line.get("high", _share),
        tuple(
            SavedClass(
                one.get("predicted", _flag),
                one.get("value", _share),
                one.get("size", _optional(_size)),
                one.get("labels", _count),
            )
            for one in line.items("classes")
        ),
    )


def _stratum(line: _Fields) -> SavedStratum:
    return SavedStratum(
        line.get("label", _text),
        line.get("low", _optional(_share)),
        line.get("high", _optional(_share)),
        line.get("rows", _count),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _size(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError
    return float(value)


def _share(value: Any) -> float:
    if _size(value) > 1:
        raise ValueError
    return float(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _optional(convert: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else convert(value)
