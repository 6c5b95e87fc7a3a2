"""The inputs of Quintd-1 and D2T-Eval as triples, from the text that stood in the models' prompt.

Six domains in three formats: JSON or a printed Python dictionary (``openweather``, ``gsmarena``, ``ice_hockey``,
``football``), CSV with comment lines (``owid``), a list in Markdown (``wikidata``). A leaf of a dictionary is a triple
whose predicate is its path; values are never rounded, renamed or converted. What is empty is left out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from scorer.metric.facts import Triple

_CAMEL = re.compile(r"([a-z0-9])([A-Z])")


def read_data(domain: str, data: str) -> list[Triple] | str:
    """The triples of an input, or what is wrong with it."""
    if domain == "wikidata":
        return _markdown(data)
    if domain == "owid":
        return _csv(data)
    try:
        found = _dictionary(data)
    except (ValueError, SyntaxError) as error:
        return f"an input that is neither JSON nor a Python dictionary ({type(error).__name__})"
    if not isinstance(found, dict):
        return f"an input that is {type(found).__name__}, not a dictionary"
    try:
        if domain == "openweather":
            return _triples(_at(found, "city", "name"), _weather(found))
        if domain == "ice_hockey":
            subject = f"{_at(found, 'homeTeam', 'name')} – {_at(found, 'awayTeam', 'name')}"
            return _triples(subject, _leaves(found))
        if domain == "football":
            subject = f"{_at(found, 'teams', 'home', 'name')} – {_at(found, 'teams', 'away', 'name')}"
            return _triples(subject, _leaves(found))
        return _triples(_at(found, "details", "name"), _phone(found))
    except KeyError as error:
        return f"an input of {domain} without {error.args[0]}"
    except (TypeError, AttributeError):
        return f"an input of {domain} in another layout"


def _dictionary(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return ast.literal_eval(data)


def _triples(subject: str, leaves: Iterator[tuple[str, str]]) -> list[Triple]:
    return [Triple(subject, path, value) for path, value in leaves if value.strip()]


def _at(found: Any, *path: str) -> str:
    for name in path:
        if not isinstance(found, dict) or name not in found:
            raise KeyError(".".join(path))
        found = found[name]
    return str(found)


def _words(name: str) -> str:
    return _CAMEL.sub(r"\1 \2", name).replace("_", " ").lower()


def _leaves(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Path and value of every leaf. The items of a list are numbered, unless there is one alone."""
    if isinstance(found, dict):
        for name, value in found.items():
            yield from _leaves(value, (*path, _words(str(name))))
    elif isinstance(found, list):
        for number, value in enumerate(found, 1):
            last = path[-1] if len(found) == 1 else f"{path[-1]} {number}"
            yield from _leaves(value, (*path[:-1], last))
    elif found is not None:
        yield ".".join(path), str(found).strip()


def _weather(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in found.items():
        if name != "list":
            yield from _leaves(value, (_words(name),))
            continue
        for item in value if isinstance(value, list) else ():
            yield from _leaves(item, (f"forecast {_at(item, 'dt_txt')}",))


def _phone(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The categories and names of specifications stay as they are; a nameless one has its category alone."""
    details = found["details"]
    for name, value in found.items():
        if name != "details":
            yield from _leaves(value, (_words(name),))
    for name, value in details.items() if isinstance(details, dict) else ():
        if name == "detailSpec":
            for group in value:
                for one in group["specifications"]:
                    path = [group["category"], str(one["name"]).strip()]
                    yield ".".join(part for part in path if part), str(one["value"]).strip()
        elif name == "quickSpec":
            yield from ((f"quick spec.{one['name']}", str(one["value"]).strip()) for one in value)
        else:
            yield from _leaves(value, ("details", _words(name)))


def _csv(data: str) -> list[Triple] | str:
    head: dict[str, str] = {}
    values: list[tuple[str, str]] = []
    for line in data.splitlines():
        if line.startswith("#"):
            name, _, value = line[1:].partition(":")
            head[name.strip()] = value.strip()
        elif line.strip() and line.strip() != "date,value":
            day, comma, value = line.partition(",")
            if not comma:
                return f"a line of an owid input without a comma: {line[:60]!r}"
            values.append((f"value.{day.strip()}", value.strip()))
    if not {"country", "title"} <= head.keys():
        return "an owid input without country and title"
    subject = f"{head['country']}, {head['title']}"
    return _triples(subject, iter([*head.items(), *values]))


def _markdown(data: str) -> list[Triple] | str:
    lines = [line.strip() for line in data.splitlines() if line.strip()]
    if len(lines) < 3 or lines[1].strip("-"):
        return "a wikidata input that is not a name, a line of hyphens and a list"
    found = []
    for line in lines[2:]:
        name, colon, value = line.removeprefix("- ").partition(": ")
        if not colon:
            return f"a line of a wikidata input without a colon: {line[:60]!r}"
        found.append(Triple(lines[0], name.strip(), value.strip()))
    return found
