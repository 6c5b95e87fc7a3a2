"""What reads from outside, as functions of bytes and a folder: an answer or an error of ours, no other exception, for
the kept corpus and variations of it. Bounded by the number of examples; `make test-slow` draws for longer."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import BundleError, SchemaError, TemplateError
from scorer.inference.bundle import Bundle
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import MALFORMED, FactError, Triple, attempt
from scorer.metric.formats import from_lists, from_mr, parse_mr, parse_triple
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Receipt
from scorer.system.codec import seal, unseal
from tests.bundles import make_bundle
from tests.metric.reference import triples_of
from tests.storage.records import IDENTITY, make_plan, make_shard
from tests.sweeps import sampled

CORPUS = Path(__file__).parent / "corpus"
MANIFEST = "written.json"
"""The description of the good bundle, kept next to the one that a target writes."""
Target = Callable[[bytes, Path], None]


def lines(content: bytes, folder: Path) -> None:
    """``s | p | o`` and E2E meaning representations, one a line: by themselves, and as a row of a column."""
    text = content.decode("utf-8", "replace")
    found, meaning = [attempt(parse_triple, line) for line in text.split("\n")], attempt(parse_mr, text)
    for facts in [*found, meaning]:
        for triple in facts if isinstance(facts, list) else ():
            assert all(triple) and all(part == part.strip() for part in triple)
    column = from_lists(pa.array([text.split("\n")], pa.list_(pa.string())))
    whole = [triple for facts in found if isinstance(facts, list) for triple in facts]
    is_bad = any(isinstance(facts, FactError) for facts in found)
    assert column.errors == ({0: MALFORMED} if is_bad else {})
    assert triples_of(column) == [[] if is_bad else whole]
    column = from_mr(pa.array([text], pa.string()))
    assert column.errors == ({0: MALFORMED} if isinstance(meaning, FactError) else {})
    assert triples_of(column) == [[] if isinstance(meaning, FactError) else meaning]


def templates(content: bytes, folder: Path) -> None:
    """A template file."""
    path = folder / "templates.json"
    path.write_bytes(content)
    try:
        made = Templates.load(path)
    except TemplateError as error:
        assert "\n" not in str(error)
        return
    for predicate in ("p", "eatType", "<object>", *made.plain, *made.by_object, *made.aliases):
        fact = made.fill(Triple("<object>", predicate, "<subject>"))
        assert "_" not in fact.text
        fact.text.encode()  # the tokenizer takes no less


def receipts(content: bytes, folder: Path) -> None:
    """A receipt without an output: read or not, it is never believed."""
    path = folder / "_receipts" / "a.parquet.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    output = OutputFolder(folder)
    try:
        found = output.receipt("a.parquet")
    except SchemaError as error:
        assert "\n" not in str(error)
        return
    shard = make_shard("a.parquet")
    if isinstance(found, Receipt):
        assert unseal(seal(found), Receipt, "x") == found
        shard = make_shard("a.parquet", identity=found.input.identity or IDENTITY)
    assert list(output.compare(make_plan([shard]), [shard], None).todo) == [shard]


def bundles(content: bytes, folder: Path) -> None:
    """The description of a bundle whose other files are good: it opens, or is refused as a bundle is."""
    (folder / "bundle.json").write_bytes(content)
    try:
        opened = Bundle.load(folder)
        for precision in opened.variants:
            opened.variant(precision)
    except BundleError as error:
        assert "\n" not in str(error)
        return
    assert len(opened.scheme.labels) == opened.scheme.width
    opened.name.encode()  # it stands in the signature, and that in every footer
    assert opened.parameters >= 0


TARGETS: dict[str, tuple[Target, list[str]]] = {
    "lines": (lines, ["triples", "meanings"]),
    "templates": (templates, ["templates"]),
    "receipts": (receipts, ["receipts"]),
    "bundles": (bundles, ["bundles"]),
}
"""With the folders of the corpus that have inputs for it."""


def completed(content: bytes, folder: Path) -> bytes:
    """Hashes of a bundle's files put where the corpus leaves room for them; other inputs as they are."""
    if not (folder / MANIFEST).exists():
        return content
    manifest = json.loads((folder / MANIFEST).read_bytes())
    known = {**manifest["files"], **{variant["file"]: variant["sha256"] for variant in manifest["variants"].values()}}
    for name, digest in known.items():
        content = content.replace(b"{" + name.encode() + b"}", digest.encode())
    return content


CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
EXAMPLES = pytest.mark.parametrize("examples", sampled([100, 1000], 2))

PIECES = [
    b"name[", b"]", b"[", b",", b"|", b" | ", b" ", b"\0", b"_", b"\xe2\x80\xa8", b"\xff", b"\xed\xa0\x80",
    b"<subject>",
    b"{", b"}", b'"', b":", b"\\ud800", b"null", b"-1", b"1e999", b"NaN", b"true", b'"$aliases"', b"[" * 3000,
    b"9" * 5000, b"../", b"\r\n",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
) | st.sampled_from([-1, 2**70, 1e400, "x" * 10_000, "../x", [[]], "a\nb", "\ud800", True])


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
    return {
        name: [
            completed(path.read_bytes(), folders[name]) for one in corpus for path in sorted((CORPUS / one).iterdir())
        ]
        for name, (_, corpus) in TARGETS.items()
    }


@st.composite
def changed(draw: Callable[[Any], Any], contents: list[bytes]) -> bytes:
    """One input of a corpus, with up to five changes."""
    content = bytearray(draw(st.sampled_from(contents)))
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        match draw(st.sampled_from(["bytes", "piece", "cut", "twice"])):
            case "bytes":
                content[start:end] = draw(st.binary(max_size=6))
            case "piece":
                content[start:end] = draw(st.sampled_from(PIECES))
            case "cut":
                del content[start:]
            case _:
                content[start:start] = content[start:end] * draw(st.integers(1, 200))
    return bytes(content)


def drawn(examples: int, check: Callable[[Callable[[Any], Any]], None]) -> None:
    """Call ``check`` with what draws an example, so many times."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=CHECKS)
    @given(data=st.data())
    def drawing(data: st.DataObject) -> None:
        check(data.draw)

    drawing()


@EXAMPLES
@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_and_changed_bytes_give_answers_or_our_errors(
    name: str, folders: dict[str, Path], kept: dict[str, list[bytes]], examples: int
) -> None:
    target, folder = TARGETS[name][0], folders[name]
    assert len(kept[name]) >= 5
    for content in kept[name]:
        target(content, folder)
    drawn(examples, lambda draw: target(draw(changed(kept[name])), folder))


def places(value: Any, base: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [base, *(path for key, inner in inside for path in places(inner, (*base, key)))]


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
        holder[path[-1]] = draw(VALUES)
    if name == "receipts":
        body = {key: value for key, value in good.items() if key != "digest"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        good["digest"] = hashlib.sha256(text.encode()).hexdigest()
    TARGETS[name][0](json.dumps(good).encode(), folder)


@EXAMPLES
@pytest.mark.parametrize("name", GOOD)
def test_changed_values_give_answers_or_our_errors(name: str, folders: dict[str, Path], examples: int) -> None:
    drawn(examples, lambda draw: one_value_changed(name, folders[name], draw))


LONG_TEXTS = """
import resource
from scorer.metric.facts import attempt
from scorer.metric.formats import parse_mr, parse_triple
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
texts = ["name[" * 400_000, "a | " * 500_000, "[" * 2_000_000, "name[A], " * 200_000, " " * 2_000_000 + "|",
         "a" * 2_000_000, "name[" + " " * 2_000_000 + "]" + " " * 2_000_000 + "x", "a[b]" + " " * 2_000_000 + "c"]
for text in texts:
    attempt(parse_mr, text)
    attempt(parse_triple, text)
print(len(texts))
"""


def test_long_hostile_texts_take_no_square_of_their_length() -> None:
    """Linear, they cost a second of CPU; quadratic, hours, and the limit of CPU seconds ends them."""
    found = subprocess.run([sys.executable, "-c", LONG_TEXTS], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "8\n"), found.stderr
