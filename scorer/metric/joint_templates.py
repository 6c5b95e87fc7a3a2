"""Templates of several predicates (``$sentences`` of a template file), each a sentence or one of several by conditions.

An item is a string with slots of at least two predicates, ``"<home> played <away>, <home_goals>-<away_goals>."``, or a
list of ``{"when": ..., "say": ...}``; the first item of it with a condition that holds is used. ``when`` is one
comparison of a slot with a slot, a number or a quoted text, ``"<home_goals> > <away_goals>"``. Two numbers compare by
value, everything else as text, only by ``=`` and ``!=``; other comparisons of texts are false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from ..errors import TemplateError
from ..system.arguments import described
from .slots import OTHER_SLOT, Pattern, fill_slots, to_text

SUBJECT = "subject"
_SLOT = re.compile(r"<([^<>]+)>")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CONDITION = re.compile(
    r"\s*<(?P<left>[^<>]+)>\s*(?P<operator>!=|<=|>=|=|<|>)\s*"
    rf"""(?:<(?P<slot>[^<>]+)>|(?P<number>{_NUMBER.pattern})|"(?P<text>[^"]*)"|'(?P<other>[^']*)')\s*"""
)
_FORM = 'write one comparison, such as <home_goals> > <away_goals>, <goals> = 0 or <result> = "draw"'


class Condition(NamedTuple):
    """A comparison of a slot with another slot or with a constant."""

    left: str
    """The slot on the left of the operator."""
    operator: str
    slot: str | None
    """The slot on the right; ``None`` for a constant."""
    constant: Decimal | str
    """The number or text on the right."""

    def holds(self, values: Mapping[str, str]) -> bool:
        """Whether it holds for the values of slots."""
        left, right = values[self.left], self.constant if self.slot is None else values[self.slot]
        if not isinstance(right, Decimal) and self.slot is not None and _NUMBER.fullmatch(right):
            right = Decimal(right)
        if isinstance(right, Decimal) and _NUMBER.fullmatch(left):
            return _OPERATORS[self.operator](Decimal(left), right)
        if self.operator not in ("=", "!="):
            return False
        return _OPERATORS[self.operator](left.replace("_", " "), str(right).replace("_", " "))


class Wording(NamedTuple):
    """A sentence with slots, and when it is used: always without a condition."""

    pattern: Pattern
    when: Condition | None


@dataclass(frozen=True)
class JointTemplate:
    """A template of several facts of one subject."""

    predicates: tuple[str, ...]
    """The predicates that it says, at least two."""
    wordings: tuple[Wording, ...]
    """Its sentences; the first that applies is used."""

    def __str__(self) -> str:
        """The first wording, and the number of further ones."""
        further = len(self.wordings) - 1
        first = to_text(self.wordings[0].pattern)
        return f"{first} (and {further} more by conditions)" if further else first

    def fill(self, values: Mapping[str, str]) -> str | None:
        """The first wording that applies with values in its slots; ``None`` if none does."""
        for pattern, when in self.wordings:
            if when is None or when.holds(values):
                return fill_slots(pattern, values)
        return None


def parse_joint_templates(value: Any, where: str) -> tuple[JointTemplate, ...]:
    """Read ``$sentences``. ``where``: name of the file for messages.

    Raises:
        TemplateError: not of the form above; names the item.
    """
    if not isinstance(value, list):
        raise TemplateError(f"{where}: '$sentences' is {described(value)}, not a list of sentences")
    return tuple(_item(item, f"{where}: sentence {number} of '$sentences'") for number, item in enumerate(value, 1))


def _item(value: Any, where: str) -> JointTemplate:
    if isinstance(value, str):
        pattern = _sentence(value, where)
        return JointTemplate(_predicates(pattern), (Wording(pattern, None),))
    if not isinstance(value, list) or not value:
        raise TemplateError(f'{where} is {described(value)}; write a string, or a list of {{"when": ..., "say": ...}}')
    wordings = tuple(_wording(item, f"{where}, wording {number}") for number, item in enumerate(value, 1))
    predicates = _predicates(wordings[0].pattern)
    for number, (pattern, when) in enumerate(wordings, 1):
        if differing := sorted({*predicates} ^ {*_predicates(pattern)}):
            raise TemplateError(
                f"{where}: wordings 1 and {number} differ in <{differing[0]}>; every 'say' names the same predicates"
            )
        slots = [when.left, when.slot] if when is not None else []
        if unsaid := [slot for slot in slots if slot not in (None, SUBJECT, *predicates)]:
            raise TemplateError(
                f"{where}, wording {number}: 'when' has <{unsaid[0]}>, which no 'say' has; a condition compares "
                "predicates that the sentence says"
            )
    return JointTemplate(predicates, wordings)


def _wording(value: Any, where: str) -> Wording:
    if not isinstance(value, Mapping) or value.keys() != {"when", "say"}:
        raise TemplateError(f'{where} is {described(value)}; write {{"when": ..., "say": ...}}')
    return Wording(_sentence(value["say"], where), _condition(value["when"], where))


def _sentence(value: Any, where: str) -> Pattern:
    if not isinstance(value, str):
        raise TemplateError(f"{where} is {described(value)}, not a string")
    if (match := OTHER_SLOT.search(value)) is not None:
        raise TemplateError(f"{where}: found {match[0]} in {value!r}; did you mean <{match[1].lower()}>?")
    pattern = tuple(_SLOT.split(value))
    if "object" in pattern[1::2]:
        raise TemplateError(f"{where} has <object>: it says several facts; write a predicate, such as <home_goals>")
    predicates = _predicates(pattern)
    if not predicates:
        raise TemplateError(f"{where} has no slot of a predicate: {value!r}; write at least two, such as <home_goals>")
    if len(predicates) == 1:
        raise TemplateError(
            f"{where} says one predicate, {predicates[0]!r}; write it as the template of {predicates[0]!r}, with "
            "<object>"
        )
    return pattern


def _condition(value: Any, where: str) -> Condition:
    parts = _CONDITION.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise TemplateError(f"{where}: 'when' is {described(value)}; {_FORM}")
    text = parts["text"] if parts["text"] is not None else parts["other"]
    if text is not None and parts["operator"] not in ("=", "!="):
        raise TemplateError(f"{where}: 'when' is {value!r}; texts compare by = and != alone")
    constant = Decimal(parts["number"]) if parts["number"] is not None else text or ""
    return Condition(parts["left"], parts["operator"], parts["slot"], constant)


def _predicates(pattern: Pattern) -> tuple[str, ...]:
    """The predicates of slots, each once, in order of first appearance."""
    return tuple(slot for slot in dict.fromkeys(pattern[1::2]) if slot != SUBJECT)
