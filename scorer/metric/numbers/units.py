"""Units of measure: how each is written, what it measures, and how it converts.

Conversion factors are the exact ones of NIST Special Publication 811, appendix B; currencies do not convert.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple


class Unit(NamedTuple):
    """``value * factor + offset`` is the value in the base unit of its ``dimension``."""

    dimension: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


# dimension: factor, symbols (as they are written), names (any case; an s at the end is the plural)
_TABLE: dict[str, list[tuple[str, str, str]]] = {
    "mass": [
        ("1", "kg", "kilogram|kilogramme|kilo"),
        ("1/1000", "g", "gram|gramme"),
        ("1/1000000", "mg", "milligram"),
        ("1000", "t", "tonne|metric ton"),
        ("45359237/100000000", "lb|lbs", "pound"),
        ("45359237/1600000000", "oz", "ounce"),
    ],
    "length": [
        ("1", "m", "metre|meter"),
        ("1/1000", "mm", "millimetre|millimeter"),
        ("1/100", "cm", "centimetre|centimeter"),
        ("1000", "km", "kilometre|kilometer"),
        ("254/10000", '"|″', "inch|inches"),
        ("3048/10000", "ft|′", "foot|feet"),
        ("9144/10000", "yd", "yard"),
        ("1609344/1000", "mi", "mile"),
    ],
    "area": [
        ("1", "m²|m2|sq m", "square metre|square meter"),
        ("1000000", "km²|km2|sq km", "square kilometre|square kilometer"),
        ("10000", "ha", "hectare"),
        ("40468564224/10000000", "ac", "acre"),
        ("2589988110336/1000000", "sq mi|mi²", "square mile"),
        ("9290304/100000000", "sq ft|ft²", "square foot|square feet"),
    ],
    "volume": [
        ("1", "l|L", "litre|liter"),
        ("1/1000", "ml|mL", "millilitre|milliliter"),
        ("1/100", "cl|cL", "centilitre|centiliter"),
        ("1000", "m³|m3", "cubic metre|cubic meter"),
        ("3785411784/1000000000", "gal", "gallon"),
    ],
    "speed": [
        ("1", "m/s", "metres per second|meters per second|metre per second|meter per second"),
        ("10/36", "km/h|kph|kmh", "kilometres per hour|kilometers per hour"),
        ("44704/100000", "mph|mi/h", "miles per hour"),
        ("1852/3600", "kn|kt", "knot"),
    ],
    "time": [
        ("1", "s|sec", "second"),
        ("1/1000", "ms", "millisecond"),
        ("60", "min|mins", "minute"),
        ("3600", "h|hr|hrs", "hour"),
        ("86400", "", "day"),
        ("604800", "", "week"),
    ],
    "months": [("1", "", "month"), ("12", "yr|yrs", "year")],
    "data": [
        ("1", "", "byte"),
        ("1000", "KB|kB", "kilobyte"),
        ("1000000", "MB", "megabyte"),
        ("1000000000", "GB", "gigabyte"),
        ("1000000000000", "TB", "terabyte"),
    ],
    "power": [
        ("1", "W", "watt"),
        ("1000", "kW", "kilowatt"),
        ("1000000", "MW", "megawatt"),
        ("7456998715822702/10000000000000", "hp", "horsepower"),
    ],
    "charge": [("1", "mAh", "milliampere hour|milliamp hour"), ("1000", "Ah", "ampere hour|amp hour")],
    "voltage": [("1", "V", "volt"), ("1000", "kV", "kilovolt")],
    "pressure": [
        ("1", "Pa", "pascal"),
        ("100", "hPa|mbar|mb", "hectopascal|millibar"),
        ("1000", "kPa", "kilopascal"),
        ("100000", "bar", ""),
    ],
    "frequency": [
        ("1", "Hz", "hertz"),
        ("1000", "kHz", "kilohertz"),
        ("1000000", "MHz", "megahertz"),
        ("1000000000", "GHz", "gigahertz"),
    ],
    "pixels": [("1", "MP|Mpx", "megapixel")],
    "share": [("1", "%", "percent|per cent")],
    "US dollar": [("1", "USD|$", "dollar|US dollar")],
    "euro": [("1", "EUR|€", "euro")],
    "pound sterling": [("1", "GBP|£", "pounds sterling")],
    "yen": [("1", "JPY|¥", "yen")],
}
_TEMPERATURES = {
    "°C|° C|ºC|℃|C": Unit("temperature", Fraction(1), Fraction(27315, 100)),
    "°F|° F|ºF|℉|F": Unit("temperature", Fraction(5, 9), Fraction(45967, 180)),
    "K": Unit("temperature"),
}
_DEGREES = {"celsius": "C", "centigrade": "C", "fahrenheit": "F"}
DEGREES = Unit("degrees")
"""``5 degrees``, which says not of what: it goes with any temperature of the same number."""

_SYMBOLS: dict[str, Unit] = {"°": DEGREES}
_NAMES: dict[str, Unit] = {"degree": DEGREES, "degrees": DEGREES}
for _dimension, _units in _TABLE.items():
    for _factor, _written, _named in _units:
        _unit = Unit(_dimension, Fraction(_factor))
        _SYMBOLS |= {symbol: _unit for symbol in _written.split("|") if symbol}
        _NAMES |= {form: _unit for name in _named.lower().split("|") if name for form in (name, f"{name}s")}
for _written, _unit in _TEMPERATURES.items():
    _SYMBOLS |= dict.fromkeys(_written.split("|"), _unit)
for _name, _symbol in _DEGREES.items():
    _NAMES |= dict.fromkeys((_name, f"degrees {_name}", f"degree {_name}"), _SYMBOLS[_symbol])

CURRENCIES = {sign: _SYMBOLS[sign] for sign in "$€£¥"}


def _any_of(words: dict[str, Unit]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


# "in" is a word far oftener than an inch, so it is one only behind a hyphen or right behind the number.
_AFTER = re.compile(
    rf"(?P<glued>-?in)(?![\w-])|[\s-]?\(?(?:(?P<name>(?ai:{_any_of(_NAMES)}))(?!\w)|(?P<symbol>{_any_of(_SYMBOLS)})(?!\w))\)?"
)
_INCH = _NAMES["inch"]


def unit_after(text: str, position: int) -> tuple[Unit, int] | None:
    """The unit that is written from a position on, behind a number, and where it ends."""
    match = _AFTER.match(text, position)
    if match is None:
        return None
    end = match.end()
    if match[0].endswith(")") and "(" not in match[0]:
        end -= 1
    if match["glued"]:
        return _INCH, end
    return (_NAMES[match["name"].lower()] if match["name"] else _SYMBOLS[match["symbol"]]), end


def unit_named(words: str) -> Unit | None:
    """The unit that a name of a fact ends with, as in ``height_mm`` or ``weight (kg)``; ``None`` without one.

    One letter alone (``vitamin C``), the least (``temp_min``) and money are not units there.
    """
    last = re.split(r"[\s_(\[]", words.rstrip(")] "))[-1]
    return None if len(last) < 2 or last == "min" else _SYMBOLS.get(last) or _NAMES.get(last.lower())
