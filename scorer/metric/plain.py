"""Facts and texts in one notation, as the model reads them under ``--reading plain``.

Numbers, dates, times, units and amounts of money are written in one way on both sides, mark-up is removed from texts,
and subjects that a text lacks stand before it as its title. A rule is here only if it is certain: it does not change
the meaning, two different values never become the same, and an ambiguous value (``03/04/2026``, ``3,5``, ``1.234``)
stays as it is. English is assumed: ``5,947`` is a whole number. A rule applied twice is the rule applied once. One
pattern (:data:`_CANDIDATE`) finds the strings of a window that a rule may change.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .fact_templates import Fact, split_camel_case
from .facts import Rows, Triple
from .slots import unquoted

MOST_SUBJECTS = 3
"""Subjects that a title names at most."""

# --- mark-up, of texts ---

_MARKUP = re.compile("[<&`*#|\n\u00a0\u2b50\u2605]")
_ATTRIBUTE = r"""(?:\s+[\w:-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))*\s*"""
_ENDS_LINE = re.compile(rf"<(?:br{_ATTRIBUTE}/?|/(?:p|div|li|tr|h[1-6]|ul|ol|table))>", re.IGNORECASE)
_TAG = re.compile(  # not those that change a meaning: s, del, sub and sup
    rf"</?(?:a|article|b|blockquote|body|code|div|em|font|h[1-6]|hr|html|i|li|ol|p|pre|section|small|span|strong|table|"
    rf"tbody|td|th|thead|tr|u|ul){_ATTRIBUTE}/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_STARS = re.compile(r"((?:[\u2b50\u2605]\ufe0f?){2,})(\u2606*)")
_LINE_START = re.compile(r"(?:#{1,6}|[-*+\u2022])\s+")
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*")
_ITALIC = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_RULE = re.compile(r"[|:\-\s]+")


def strip_markup(text: str) -> str:
    """A text without tags, entities and Markdown, on one line; a line without punctuation at its end gets a stop."""
    if "<" in text:
        text = _TAG.sub("", _ENDS_LINE.sub("\n", text))
    if "&" in text:
        text = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    text = _STARS.sub(_count_stars, text.replace("\u00a0", " "))
    if "*" in text:
        text = _ITALIC.sub(r"\1", _BOLD.sub(r"\1", text))
    lines = [line.strip() for line in text.replace("`", "").split("\n")]
    if len(lines) > 1:
        lines = [_LINE_START.sub("", line, count=1) for line in lines if _RULE.fullmatch(line) is None]
    lines = [line for line in map(_join_cells, lines) if line]
    return " ".join([*(line if line[-1] in ".!?:,;" else f"{line}." for line in lines[:-1]), *lines[-1:]])


def _count_stars(m: re.Match[str]) -> str:
    full, empty = len(m[1].replace("\ufe0f", "")), len(m[2])
    return f"{full} of {full + empty} stars" if empty else f"{full} stars"


def _join_cells(line: str) -> str:
    """A row of a Markdown table as a list, one of two cells as a name and its value; other lines as they are."""
    if not (len(line) > 2 and line[0] == line[-1] == "|"):
        return line
    cells = [cell.strip() for cell in line[1:-1].split("|")]
    return ": ".join(cells) if len(cells) == 2 else ", ".join(cells)


# --- numbers, dates, times, units and amounts, of texts and facts ---

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_UNITS = {
    "°C": "degree celsius|degrees celsius|degrees centigrade|°c|° c",
    "°F": "degree fahrenheit|degrees fahrenheit|°f|° f",
    "%": "percent|per cent|%",
    "m²": "square metre|square metres|square meter|square meters|sq m|sqm|m2|m²",
    "km²": "square kilometre|square kilometres|square kilometer|square kilometers|sq km|km2|km²",
    "ft²": "square feet|square foot|sq ft|ft2|ft²",
    "mph": "miles per hour|mph",
    "km/h": "kilometres per hour|kilometers per hour|kilometres an hour|kilometers an hour|kph|kmh|km/h",
    "km": "kilometre|kilometres|kilometer|kilometers|km",
    "cm": "centimetre|centimetres|centimeter|centimeters|cm",
    "mm": "millimetre|millimetres|millimeter|millimeters|mm",
    "kg": "kilogram|kilograms|kilogramme|kilogrammes|kilo|kilos|kg",
    "€": "euro|euros|eur|€",
    "£": "gbp|pounds sterling",
    "$": "usd|us dollars|us dollar|dollars",
}
_UNIT = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings.split("|")}
_FIRST_WORDS = {spelling.split(" ")[0] for spelling in _UNIT}
_CURRENCIES = {"EUR": "€", "USD": "$", "GBP": "£"}

_DIGIT = re.compile(r"[0-9]")
_BEFORE, _AFTER = r"(?<![\w.,:/-])", r"(?![\w]|[.,:/-][0-9])"
_DAY = r"([0-9]{1,2})"
_MONTH = (
    rf"({'|'.join(f'{m[:3]}(?:{m[3:]}|t?[.]?)' if m == 'September' else f'{m[:3]}(?:{m[3:]}|[.]?)' for m in MONTHS)})"
)
_HAS_MONTH = re.compile("|".join(month[:3] for month in MONTHS))


def _date(day: str, month: int, year: str) -> str | None:
    try:
        date(int(year), month, int(day))
    except ValueError:
        return None
    return f"{int(day)} {MONTHS[month - 1]} {year}"


def _number_of_month(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month[:3] == name[:3])


def _read_iso(m: re.Match[str]) -> str:
    """A date, or a time of a day; ``00:00:00`` is how a column of times holds a day."""
    day = _date(m[3], int(m[2]), m[1])
    if day is None or m[4] is None or (m[4] == "00:00" and m[5]):
        return day or m[0]
    hour, _, minutes = m[4].partition(":")
    return f"{day} {int(hour)}:{minutes}" + (" UTC" if m[6] else "")


def _read_slashes(m: re.Match[str]) -> str:
    """A date where one of the numbers can only be the day."""
    first, second = int(m[1]), int(m[2])
    if first > 12 >= second:
        return _date(m[1], second, m[3]) or m[0]
    return (_date(m[2], first, m[3]) or m[0]) if second > 12 >= first else m[0]


def _read_clock(m: re.Match[str]) -> str:
    hour, minutes = int(m[1]), m[2] or "00"
    if not 1 <= hour <= 12 or int(minutes) > 59:
        return m[0]
    return f"{hour % 12 + (12 if m[3] in 'pP' else 0)}:{minutes}"


def _read_unit(m: re.Match[str]) -> str:
    first, second = m[3].lower(), m[4] or ""
    if first not in _FIRST_WORDS or (first == "euro" and second):  # 3 euro coins
        return m[0]
    for word, following in ((first + second.lower(), ""), (first, second)):
        if (unit := _UNIT.get(word)) is not None:
            number = m[1] + (m[2] or "")
            if unit in "€£$":
                return (f"-{unit}{number[1:]}" if number[0] == "-" else f"{unit}{number}") + following
            return (f"{number}%" if unit == "%" else f"{number} {unit}") + following
    return m[0]


def _read_amount(m: re.Match[str]) -> str:
    """An amount of money without zeros at its end."""
    integer, _, cents = m[3].partition(".")
    return f"{m[1] or _CURRENCIES[m[2]]}{m[3] if cents.strip('0') else integer}"


_DOTS: Rule = (
    re.compile(rf"{_BEFORE}{_DAY}\.([0-9]{{1,2}})\.([0-9]{{4}}){_AFTER}"),
    lambda m: _date(m[1], int(m[2]), m[3]) or m[0],
)
_BY_CHARACTER: dict[str, list[Rule]] = {
    "-": [
        (
            re.compile(
                rf"{_BEFORE}([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})"
                rf"(?:[ T]((?:[01][0-9]|2[0-3]):[0-5][0-9])(:00(?:\.0+)?)?(Z)?)?{_AFTER}"
            ),
            _read_iso,
        )
    ],
    ".": [
        _DOTS,
        (
            re.compile(r"(?<![\w.,])([0-9]{1,3}(?:\.[0-9]{3})+),([0-9]{2})(?![\w]|[.,][0-9])"),
            lambda m: f"{m[1].replace('.', '')}.{m[2]}",
        ),
    ],
    "/": [(re.compile(rf"{_BEFORE}{_DAY}/([0-9]{{1,2}})/([0-9]{{4}}){_AFTER}"), _read_slashes)],
    ",": [(re.compile(r"(?<![\w.,])([1-9][0-9]{0,2}(?:,[0-9]{3})+)(?![\w]|,[0-9])"), lambda m: m[1].replace(",", ""))],
    "\u2013": [(re.compile(r"(?<=[0-9])\u2013(?=[0-9])"), "-")],
    "\u2212": [(re.compile(r"\u2212(?=[0-9])"), "-")],
}
"""Rules by a character that a text must have."""
_NAMED_MONTHS: list[Rule] = [
    (
        re.compile(rf"\b{_MONTH} {_DAY}(?:st|nd|rd|th)?,? ([0-9]{{4}})\b"),
        lambda m: _date(m[2], _number_of_month(m[1]), m[3]) or m[0],
    ),
    (
        re.compile(rf"\b{_DAY}(?:st|nd|rd|th)?(?: of)? {_MONTH},? ([0-9]{{4}})\b"),
        lambda m: _date(m[1], _number_of_month(m[2]), m[3]) or m[0],
    ),
    (
        re.compile(rf"\b{_MONTH} {_DAY}(?:st|nd|rd|th)\b"),
        lambda m: f"{int(m[2])} {MONTHS[_number_of_month(m[1]) - 1]}",
    ),
    (
        re.compile(rf"\b{_DAY}(?:st|nd|rd|th)(?: of)? {_MONTH}\b"),
        lambda m: f"{int(m[1])} {MONTHS[_number_of_month(m[2]) - 1]}",
    ),
]
_CLOCK: Rule = (
    re.compile(
        r"(?<![\w:.€£$-])([0-9]{1,2})(?::([0-9]{2}))? ?([aApP])"
        r"(?:\.[mM]\.(?! [A-Z]|$)|\.[mM](?=\. [A-Z]|\.$)|[mM])(?!\w)"
    ),
    _read_clock,
)
_NUMBER_OF_UNIT: Rule = (
    re.compile(
        r"(?<![\w.,:/€£$-])(-?[0-9]+(?:\.[0-9]+)?)( (?:million|billion|trillion))?[ -]?(?=[a-zA-Z%€°])"
        r"([^\W\d_]+/h\b|° ?[cCfF]\b|[%€](?![\w€£$%])|[^\W\d_]+[2²]?(?![\w²]))( [^\W\d_]+(?: hour)?\b)?"
    ),
    _read_unit,
)
_MINUS: Rule = (re.compile(r"(?<![0-9] )(?<!\b\w )\b[Mm]inus (?=[0-9])"), "-")
_AMOUNT: Rule = (
    re.compile(r"(?<![\w€£$])(?:([€£$]) ?|(EUR|USD|GBP) ?)([0-9]+(?:\.[0-9]+)?)(?![\w€£$]|[.,:/-][0-9])"),
    _read_amount,
)
_HAS_AMOUNT = re.compile("[€£$]|EUR|USD|GBP")


def notation(text: str) -> str:
    """Numbers, dates, times, units and amounts of money in one way; a text without a digit as it is."""
    if _DIGIT.search(text) is None:
        return text
    rules: list[Rule] = []
    for character, character_rules in _BY_CHARACTER.items():
        if character in text:
            rules += character_rules
    if _HAS_MONTH.search(text) is not None:
        rules += _NAMED_MONTHS
    rules += (_CLOCK, _NUMBER_OF_UNIT)
    if "inus " in text:
        rules.append(_MINUS)
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return _AMOUNT[0].sub(_AMOUNT[1], text) if _HAS_AMOUNT.search(text) is not None else text


def read_text(text: str) -> str:
    """A text as the model reads it, without the title."""
    return notation(strip_markup(text) if _MARKUP.search(text) is not None else text)


_SHORT_MONTHS = "|".join(month[:3] for month in MONTHS)
_CANDIDATE = "|".join(
    [
        _MARKUP.pattern,
        r"[0-9][-./][0-9]{1,2}[-./][0-9]",  # dates
        r"[0-9][.,][0-9]{3}",
        "[0-9]\u2013[0-9]|\u2212[0-9]|[mM]inus [0-9]",
        rf"(?:{_SHORT_MONTHS})[a-z.]* [0-9]|[0-9](?:[a-z]{{2}})?(?: of)? (?:{_SHORT_MONTHS})",
        r"[0-9] ?[aApP][.]?[mM]",
        rf"[0-9](?: [mbt][a-z]+)?[ -]?(?i:{'|'.join(sorted(_FIRST_WORDS))})",
        r"[€£$] [0-9]|[€£$][0-9]+[.]0|(?:EUR|USD|GBP) ?[0-9]",
    ]
)
"""Matches in every string that :func:`read_text` changes, and in few others; in the syntax of RE2."""


def _may_change(strings: Sequence[str | None]) -> list[bool | None]:
    matches: list[bool | None] = pc.match_substring_regex(pa.array(strings, pa.large_string()), _CANDIDATE).to_pylist()
    return matches


def read_texts(texts: Sequence[str | None]) -> list[str | None]:
    """The texts of a window as :func:`read_text` reads them; ``None`` stays."""
    return [
        read_text(text) if text is not None and may_change else text
        for text, may_change in zip(texts, _may_change(texts), strict=True)
    ]


# --- facts ---

_NAME_UNIT = re.compile(r"\s*[(\[]([^()\[\]]{1,12})[)\]]\s*\Z")
_NUMBER = re.compile(r"-?[0-9][0-9.,]*")
_YES, _NO = frozenset({"yes", "true"}), frozenset({"no", "false"})
_VERBS = {
    "is": "is not", "are": "are not", "was": "was not", "can": "cannot", "has": "does not have", "have": "do not have"
}  # fmt: skip
_THING = re.compile(
    r"(?!has|is|are|can|was|no|allow|accept|serve|offer)[a-z]{3,12}"
    r"(?<!able)(?<!ible)(?<!less)(?<!ful)(?<!ive)(?<!ous)(?<!ed)(?<!al)(?<!ic)(?<!proof)(?<!y)"
)
"""A word that can only be a noun, for something that somebody has or has not."""


def read_facts(triples: Sequence[Triple], worded: Sequence[Fact]) -> list[Fact]:
    """Facts as the model reads them: in the words of a template, otherwise of a rule, otherwise of backoff.

    Args:
        worded: the fact of each triple, by template or backoff.
    """
    facts = [
        Fact(_word_by_rule(triple) or fact.text, True) if fact.backoff else fact
        for triple, fact in zip(triples, worded, strict=True)
    ]
    return [
        Fact(notation(fact.text), fact.backoff) if may_change else fact
        for fact, may_change in zip(facts, _may_change([fact.text for fact in facts]), strict=True)
    ]


def _word_by_rule(triple: Triple) -> str | None:
    """The words of a triple without a template, if its predicate has one of the forms ``is open: yes``, ``parking: no``
    and ``weight (kg): 12``."""
    value = unquoted(triple.object).replace("_", " ")
    lower_value = value.lower()
    if lower_value not in _YES | _NO and triple.predicate[-1] not in ")]":
        return None
    subject, predicate = triple.subject.replace("_", " "), split_camel_case(triple.predicate)
    first, _, adjective = predicate.partition(" ")
    if adjective and first in _VERBS and lower_value in _YES | _NO:
        return f"{subject} {first if lower_value in _YES else _VERBS[first]} {adjective}."
    if lower_value in _NO and _THING.fullmatch(predicate):
        return f"{subject} has no {predicate}."
    unit = _NAME_UNIT.search(predicate)
    if unit is not None and _NUMBER.fullmatch(value) and unit[1].lower() in _UNIT:
        return f"The {predicate[: unit.start()]} of {subject} is {value} {unit[1]}."
    return None


# --- the title of a text ---


def add_titles(
    rows: Rows,
    facts: Sequence[str],
    text_ids: npt.NDArray[np.int32],
    active: npt.NDArray[np.bool_],
    strings: dict[str, int],
) -> npt.NDArray[np.int32]:
    """Put subjects that facts of a row say and its text lacks before the text, :data:`MOST_SUBJECTS` at most.

    Args:
        facts: each distinct triple as the model reads it.
        text_ids: int32, *Shape:* (rows,), ids of the texts in ``strings``.
        active: bool, *Shape:* (rows,), rows with checks.
        strings: every string, to its id; titled texts are added.

    Returns:
        int32, *Shape:* (rows,), ids of the texts with their titles.
    """
    triples = rows.triples
    names: dict[str, int] = {}
    numbers = [
        names.setdefault(name, len(names))
        if (name := notation(triple.subject.replace("_", " "))) in fact and name
        else -1
        for triple, fact in zip(triples.distinct, facts, strict=True)
    ]
    name_of_fact = np.array(numbers, np.int64)[triples.ids]
    row_of_fact = np.repeat(np.arange(len(rows)), triples.lengths)
    has_name = (name_of_fact >= 0) & active[row_of_fact]
    if not has_name.any():
        return text_ids
    names_by_id, texts = list(names), list(strings)
    rows_with_names, subjects = row_of_fact[has_name], name_of_fact[has_name]
    pairs, pair_of_name = np.unique(
        text_ids[rows_with_names] * np.int64(len(names_by_id)) + subjects, return_inverse=True
    )
    lower_names = [name.lower() for name in names_by_id]
    lower_texts = {text: texts[text].lower() for text in set(text_ids[rows_with_names].tolist())}
    is_missing = [
        lower_names[pair % len(names_by_id)] not in lower_texts[pair // len(names_by_id)] for pair in pairs.tolist()
    ]
    missing = np.array(is_missing)[pair_of_name.reshape(-1)]
    titles: dict[int, dict[str, None]] = {}
    for row, number in zip(rows_with_names[missing].tolist(), subjects[missing].tolist(), strict=True):
        titles.setdefault(row, {})[names_by_id[number]] = None
    titled = text_ids.copy()
    for row, title_names in titles.items():
        title = ", ".join(list(title_names)[:MOST_SUBJECTS])
        titled[row] = strings.setdefault(f"{title}: {texts[text_ids[row]]}", len(strings))
    return titled
