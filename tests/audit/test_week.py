"""A week of nights: 60 products, three systems, a regression, a few new texts that are all wrong, and its repair."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.audit.nights import command

PRODUCTS, NEW = 60, 10
WORDINGS = {
    "a": "The {name} by {brand} is {colour}, weighs {weight} and has a warranty of {warranty}.",
    "b": "The {name} is a {colour} product by {brand}. It weighs {weight}. Its warranty is {warranty}.",
    "c": "{brand} makes the {name}. It is {colour}, its weight is {weight}, and its warranty is {warranty}.",
}
WITHOUT_WARRANTY = "The {name} by {brand} is {colour} and weighs {weight}."
Texts = dict[tuple[str, int], str]


def product(number: int, heavier: int = 0) -> dict[str, str]:
    random = Random(number)
    name, kind = random.choice(["Aria", "Nova", "Mira", "Ember"]), random.choice(["lamp", "desk", "stove", "bag"])
    return {
        "name": f"{name} {kind} {number}",
        "brand": random.choice(["Lumo", "Ferra", "Kaldera", "Brandt", "Orbis"]),
        "weight": f"{random.randint(1, 40) + heavier} kg",
        "colour": random.choice(["black", "white", "green", "grey", "orange"]),
        "warranty": f"{random.randint(1, 5)} years",
    }


def week() -> Iterator[Texts]:
    """The texts of each night."""
    random = Random(7)
    texts = {(system, i): WORDINGS[system].format(**product(i)) for system in WORDINGS for i in range(PRODUCTS)}
    for system, rate in (("a", 0.05), ("b", 0.08), ("c", 0.1)):
        for i in range(PRODUCTS):
            if random.random() < rate:
                wrong = WITHOUT_WARRANTY.format(**product(i)), WORDINGS[system].format(**product(i, heavier=7))
                texts[system, i] = random.choice(wrong)
    yield dict(texts)
    texts |= {("a", i): WORDINGS["c"].format(**product(i)) for i in range(5)}  # a few are worded anew
    yield dict(texts)
    good = dict(texts)
    for i in range(PRODUCTS):  # system b leaves out the warranty of many products
        wording = WITHOUT_WARRANTY if random.random() < 0.4 else WORDINGS["a"]
        texts["b", i] = wording.format(**product(i))
    yield dict(texts)
    # Repaired; and eight texts of c, all wrong.
    yield good | {("c", i): WORDINGS["a"].format(**product(i, heavier=7)) for i in range(20, 28)}
    new = range(PRODUCTS, PRODUCTS + NEW)
    yield good | {(system, i): WORDINGS[system].format(**product(i)) for system in WORDINGS for i in new}


def scored(folder: Path, number: int, texts: Texts) -> Path:
    """The output of a night, which reuses the labels of the one before."""
    data, out = folder / "data", folder / f"night-{number}"
    data.mkdir(exist_ok=True)
    for system in WORDINGS:
        rows = [
            {"id": f"{system}{i}", "system": system, "attributes": product(i), "text": text}
            for (name, i), text in texts.items()
            if name == system
        ]
        (data / f"{system}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    earlier = ("--reuse", folder / f"night-{number - 1}") if number > 1 else ()
    command("run", data, "--out", out, "--bundle", "embedded", *earlier)
    return out


@pytest.mark.slow
def test_a_week_fails_when_it_should_and_says_what_broke(tmp_path: Path) -> None:
    gates, changes = tmp_path / "gates.toml", tmp_path / "changes.toml"
    found: dict[int, Any] = {}
    passed: Path | None = None
    for number, texts in enumerate(week(), 1):
        out = scored(tmp_path, number, texts)
        if passed is None:
            command("gates", "init", out, "--by", "system", "--gates", gates, "--changes", changes)
        against = ("--baseline", passed, "--gates", changes) if passed is not None else ()
        result = command("audit", out, "--gates", gates, *against, "--json", code=int(number in (3, 4)))
        found[number] = json.loads(result.stdout)
        passed = out if found[number]["status"] == "pass" else passed
    assert [one["status"] for one in found.values()] == ["pass", "pass", "fail", "fail", "pass"]
    first = found[3]["findings"][0]
    assert (first["group"], first["predicate"]) == ({"system": "b"}, "warranty")
    assert found[3]["headline"].startswith("b: warranty omitted in ")
    assert len(first["rows"]) == 2
    for row in first["rows"]:
        assert row["now"]["file"] == "b.parquet"
        assert "warranty" in {fact["predicate"] for fact in row["now"]["facts"] if fact["omitted"]}
    assert found[4]["findings"][0]["group"] == {"system": "c"}
