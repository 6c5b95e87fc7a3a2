"""The kept corpus, and variations of it: bytes changed anywhere, values of good JSON replaced, values of any form.

Bounded by the number of examples, never by time. `make test-slow` draws for longer.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bundles import make_bundle
from tests.fuzz.targets import CORPUS, MANIFEST, TARGETS, completed, corpus
from tests.sweeps import sampled

CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
SHORT = settings(max_examples=100, deadline=None, suppress_health_check=CHECKS)
EXAMPLES = pytest.mark.parametrize("examples", sampled([100, 2000], 2))

PIECES = [
    b"name[", b"]", b"[", b",", b"|", b" | ", b" ", b"\0", b"_", b"\xe2\x80\xa8", b"\xff", b"\xed\xa0\x80",
    b"<subject>",
    b"{", b"}", b'"', b":", b"\\ud800", b"null", b"-1", b"1e999", b"NaN", b"true", b'"$aliases"', b"[" * 3000,
    b"9" * 5000, b"../", b"\r\n",
]  # fmt: skip
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=10), inner, max_size=4)),
    max_leaves=12,
)
odd_values = st.one_of(values, st.sampled_from([-1, 2**70, 1e400, "x" * 10_000, "../x", [[]], "a\nb", "\ud800", True]))
template_files = st.dictionaries(
    st.sampled_from(["p", "$aliases", "$optional", "$version", "version", "q"]),
    st.one_of(values, st.just("<subject> is <object>."), st.dictionaries(st.text(max_size=3), st.text(max_size=9))),
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each target a folder to write into; that of bundles holds a good one."""
    made = {name: tmp_path_factory.mktemp(name) for name in TARGETS if name != "bundles"}
    bundle = make_bundle(tmp_path_factory.mktemp("bundles") / "tiny")
    (bundle / "bundle.json").rename(bundle / MANIFEST)
    return {**made, "bundles": bundle}


@pytest.fixture(scope="module")
def kept(folders: dict[str, Path]) -> dict[str, list[bytes]]:
    """The corpus by target, with what is to be put in."""
    found = {name: corpus(name) for name in TARGETS}
    found["bundles"] = [completed(content, folders["bundles"]) for content in found["bundles"]]
    return found


@st.composite
def changed(draw: Callable[[Any], Any], contents: list[bytes]) -> bytes:
    """One input of a corpus, with up to five changes."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        way = draw(st.sampled_from(["bytes", "piece", "cut", "twice", "other"]))
        if way == "bytes":
            content[start:end] = draw(st.binary(max_size=6))
        elif way == "piece":
            content[start:end] = draw(st.sampled_from(PIECES))
        elif way == "cut":
            del content[start:]
        elif way == "twice":
            content[start:start] = content[start:end] * draw(st.integers(1, 200))
        else:
            other = draw(st.sampled_from(contents))
            content[start:] = other[draw(st.integers(0, len(other))) :]
    return bytes(content)


@pytest.mark.parametrize("name", TARGETS)
def test_the_kept_corpus_gives_answers_or_our_errors(
    name: str, folders: dict[str, Path], kept: dict[str, list[bytes]]
) -> None:
    assert len(kept[name]) >= 5
    for content in kept[name]:
        TARGETS[name](content, folders[name])


def drawn(examples: int, check: Callable[[Callable[[Any], Any]], None]) -> None:
    """Call ``check`` with what draws an example, so many times."""

    @settings(SHORT, max_examples=examples)
    @given(data=st.data())
    def drawing(data: st.DataObject) -> None:
        check(data.draw)

    drawing()


@EXAMPLES
@pytest.mark.parametrize("name", TARGETS)
def test_changed_bytes_give_answers_or_our_errors(
    name: str, folders: dict[str, Path], kept: dict[str, list[bytes]], examples: int
) -> None:
    drawn(examples, lambda draw: TARGETS[name](draw(changed(kept[name])), folders[name]))


def places(value: Any, base: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything inside a JSON value."""
    found = [base]
    if isinstance(value, dict):
        return found + [path for key, inner in value.items() for path in places(inner, (*base, key))]
    if isinstance(value, list):
        return found + [path for i, inner in enumerate(value) for path in places(inner, (*base, i))]
    return found


GOOD = {"templates": "extras.json", "receipts": "good.json", "bundles": "good.json"}


def one_value_changed(name: str, folder: Path, draw: Callable[[Any], Any]) -> None:
    """One value of a good file replaced, or taken away; a receipt is signed again, as only deliberate damage would."""
    good = json.loads(completed((CORPUS / name / GOOD[name]).read_bytes(), folder))
    path = draw(st.sampled_from(places(good)[1:]))
    holder = good
    for step in path[:-1]:
        holder = holder[step]
    if draw(st.booleans()):
        del holder[path[-1]]
    else:
        holder[path[-1]] = draw(odd_values)
    if name == "receipts":
        body = {key: value for key, value in good.items() if key != "digest"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        good["digest"] = hashlib.sha256(text.encode()).hexdigest()
    TARGETS[name](json.dumps(good).encode(), folder)


@EXAMPLES
@pytest.mark.parametrize("name", GOOD)
def test_changed_values_give_answers_or_our_errors(name: str, folders: dict[str, Path], examples: int) -> None:
    drawn(examples, lambda draw: one_value_changed(name, folders[name], draw))


@SHORT
@given(data=st.one_of(values, template_files))
def test_template_files_of_any_form(folders: dict[str, Path], data: Any) -> None:
    TARGETS["templates"](json.dumps(data).encode(), folders["templates"])


LONG_TEXTS = """
import resource
from scorer.metric.numbers.quantities import quantities
from scorer.metric.triples import parse_mr, parse_triple
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
texts = ["name[" * 400_000, "a | " * 500_000, "[" * 2_000_000, "name[A], " * 200_000, " " * 2_000_000 + "|",
         "a" * 2_000_000, "name[" + " " * 2_000_000 + "]" + " " * 2_000_000 + "x", "a[b]" + " " * 2_000_000 + "c"]
for text in texts:
    parse_mr(text)
    parse_triple(text)
assert len(quantities("3 May 2021. " * 40_000)) == 40_000
print(len(texts))
"""


def test_long_hostile_texts_take_no_square_of_their_length() -> None:
    """Linear, they cost a second of CPU; quadratic, hours, and the limit of CPU seconds ends them."""
    found = subprocess.run([sys.executable, "-c", LONG_TEXTS], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "8\n"), found.stderr
