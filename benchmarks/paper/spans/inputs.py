"""The inputs of Quintd-1 and D2T-Eval as triples, from the text that stood in the models' prompt.

Six domains in three formats: JSON or a printed Python dictionary, CSV with comment lines (``owid``), a list in Markdown
(``wikidata``). A leaf of a dictionary is a triple whose predicate is its path; what is empty is left out.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from scorer.metric.facts import Triple

_CAMEL = re.compile(r"([a-z0-9])([A-Z])")


def read_data(domain: str, data: str) -> list[Triple]:
    """The triples of an input; an exception if it is not of the domain's form."""
    if domain == "wikidata":
        return _markdown(data)
    if domain == "owid":
        return _csv(data)
    try:
        found = json.loads(data)
    except ValueError:
        found = ast.literal_eval(data)
    if domain == "openweather":
        return _triples(found["city"]["name"], _weather(found))
    if domain == "gsmarena":
        return _triples(found["details"]["name"], _phone(found))
    teams = [found[f"{side}Team"] if domain == "ice_hockey" else found["teams"][side] for side in ("home", "away")]
    return _triples(" – ".join(team["name"] for team in teams), _leaves(found))


def _triples(subject: str, leaves: Iterator[tuple[str, str]]) -> list[Triple]:
    return [Triple(subject, path, value) for path, value in leaves if value.strip()]


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
        for item in value:
            yield from _leaves(item, (f"forecast {item['dt_txt']}",))


def _phone(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The categories and names of specifications stay as they are; a nameless one has its category alone."""
    for name, value in found.items():
        if name != "details":
            yield from _leaves(value, (_words(name),))
    for name, value in found["details"].items():
        if name == "detailSpec":
            for group in value:
                for one in group["specifications"]:
                    path = [group["category"], str(one["name"]).strip()]
                    yield ".".join(part for part in path if part), str(one["value"]).strip()
        elif name == "quickSpec":
            yield from ((f"quick spec.{one['name']}", str(one["value"]).strip()) for one in value)
        else:
            yield from _leaves(value, ("details", _words(name)))


def _csv(data: str) -> list[Triple]:
    head: dict[str, str] = {}
    values: list[tuple[str, str]] = []
    for line in data.splitlines():
        if line.startswith("#"):
            name, _, value = line[1:].partition(":")
            head[name.strip()] = value.strip()
        elif line.strip() and line.strip() != "date,value":
            day, value = line.split(",", 1)
            values.append((f"value.{day.strip()}", value.strip()))
    return _triples(f"{head['country']}, {head['title']}", iter([*head.items(), *values]))


def _markdown(data: str) -> list[Triple]:
    """A name, a line of hyphens, and a list of ``- name: value``."""
    subject, _, *items = [line.strip() for line in data.splitlines() if line.strip()]
    pairs = [item.removeprefix("- ").split(": ", 1) for item in items]
    return [Triple(subject, name.strip(), value.strip()) for name, value in pairs]
