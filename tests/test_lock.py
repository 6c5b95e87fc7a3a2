"""requirements.lock: what a score runs on, by hash, in the versions of constraints.txt; nothing less, nothing more."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PIN = re.compile(
    r"^([A-Za-z0-9._-]+)==(\S+)(?: ; ([^\\]+?))? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
PINS = {canonicalize_name(name): (version, hashes.count("--hash")) for name, version, _, hashes in PIN.findall(LOCK)}
MARKERS = {canonicalize_name(name) for name, _, marker, _ in PIN.findall(LOCK) if marker}


def test_every_line_is_a_pin_with_its_hashes_in_the_version_of_the_constraints() -> None:
    rest = [line for line in PIN.sub("", LOCK).splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert rest == [] and "://" not in LOCK and "--index" not in LOCK
    for name in ("numpy", "pyarrow", "onnxruntime", "tokenizers"):
        assert PINS[name][1] > 5, "a compiled package has the wheels of all platforms"
    lines = (ROOT / "constraints.txt").read_text().split()
    constrained = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert {name: constrained.get(name) for name in PINS} == {name: version for name, (version, _) in PINS.items()}


def test_what_the_project_and_its_dependencies_ask_for_is_there_and_nothing_else() -> None:
    """The closure of the run-time dependencies and the CPU's runtime, as the packages that are installed tell it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["cpu"])]
    for requirement in asked:
        assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)][0], prereleases=True)
    found: set[str] = set()
    waiting = [canonicalize_name(requirement.name) for requirement in asked]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            needed = [Requirement(text) for text in metadata.requires(name) or []]
            waiting += [
                canonicalize_name(r.name) for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})
            ]
    # What only other platforms need has a marker that says which.
    assert found <= PINS.keys() and PINS.keys() - found <= MARKERS
