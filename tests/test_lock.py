"""requirements.lock: what a score runs on, by hash, in the versions of constraints.txt; nothing less, nothing more."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
PINS = {canonicalize_name(name): (version, hashes.count("--hash")) for name, version, _, hashes in PIN.findall(LOCK)}
MARKERS = {canonicalize_name(name): marker for name, _, marker, _ in PIN.findall(LOCK) if marker}


def asked() -> list[Requirement]:
    """Requirements that the project names: the run-time dependencies and the CPU's runtime."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["cpu"])]


def test_every_line_is_a_pin_with_its_hashes() -> None:
    rest = [line for line in PIN.sub("", LOCK).splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert rest == []
    assert "://" not in LOCK and "--index" not in LOCK
    assert all(count >= 1 for _, count in PINS.values())


@pytest.mark.parametrize("name", ["numpy", "pyarrow", "onnxruntime", "tokenizers"])
def test_compiled_packages_have_the_wheels_of_all_platforms(name: str) -> None:
    assert PINS[name][1] > 5


def test_what_the_project_asks_for_is_there() -> None:
    for requirement in asked():
        version, _ = PINS[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement


def test_the_versions_are_those_of_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    constrained = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert {name: constrained.get(name) for name in PINS} == {name: version for name, (version, _) in PINS.items()}


def test_what_they_ask_for_is_there_and_nothing_else() -> None:
    """The closure, as the packages that are installed here tell it."""
    found: set[str] = set()
    waiting = [canonicalize_name(requirement.name) for requirement in asked()]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        needed = [Requirement(text) for text in metadata.requires(name) or []]
        waiting += [canonicalize_name(r.name) for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})]
    # What only other platforms need has a marker that says which.
    assert found <= PINS.keys()
    assert PINS.keys() - found <= MARKERS.keys()
