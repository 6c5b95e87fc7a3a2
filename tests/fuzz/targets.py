"""What reads from outside, each as a function of bytes: an answer or an error of ours, and never another exception.

Every target takes the bytes and a folder it may write into. So a fuzzer that knows nothing of this program can call
them; :mod:`.test_fuzz` does it with Hypothesis.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from scorer.errors import BundleError, SchemaError, TemplateError
from scorer.inference.bundle import Bundle
from scorer.metric.templates import Templates
from scorer.metric.triples import MALFORMED, Triple, from_lists, from_mr, iterate, parse_mr, parse_triple
from scorer.storage import Fingerprint, Identity, Receipt, Receipts
from scorer.system.codec import seal, unseal

CORPUS = Path(__file__).parent / "corpus"
MANIFEST = "written.json"
"""The description of the good bundle, kept next to the one that a target writes."""
Target = Callable[[bytes, Path], None]


def triples(content: bytes, folder: Path) -> None:
    """``s | p | o``, one a line: by itself, and as a row of a column."""
    lines = content.decode("utf-8", "replace").split("\n")
    found = [parse_triple(line) for line in lines]
    for triple in found:
        assert triple is None or (all(triple) and all(part == part.strip() for part in triple))
    column = from_lists(pa.array([lines], pa.list_(pa.string())))
    assert column.errors == ({0: MALFORMED} if None in found else {})
    assert list(iterate(column)) == [[] if None in found else found]


def meanings(content: bytes, folder: Path) -> None:
    """An E2E meaning representation: by itself, and as a row of a column."""
    text = content.decode("utf-8", "replace")
    found = parse_mr(text)
    for triple in found or ():
        assert all(triple) and all(part == part.strip() for part in triple)
    column = from_mr(pa.array([text], pa.string()))
    assert column.errors == ({0: MALFORMED} if found is None else {})
    assert list(iterate(column)) == [found or []]


def templates(content: bytes, folder: Path) -> None:
    """A template file."""
    path = folder / "templates.json"
    path.write_bytes(content)
    try:
        made = Templates.load(path)
    except TemplateError as error:
        assert one_line(error)
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
    store = Receipts(folder)
    try:
        found = store.read("a.parquet")
    except SchemaError as error:
        assert one_line(error)
        return
    assert found is None or unseal(seal(found), Receipt, "x") == found
    identity = (found.input.identity if found is not None else None) or Identity(0, None, "")
    assert isinstance(store.check("a.parquet", identity, Fingerprint(signature="s", signature_parts={})), str)


def bundles(content: bytes, folder: Path) -> None:
    """The description of a bundle whose other files are good: it opens, or is refused as a bundle is."""
    (folder / "bundle.json").write_bytes(content)
    try:
        opened = Bundle.load(folder)
        for precision in opened.variants:
            opened.variant(precision)
    except BundleError as error:
        assert one_line(error)
        return
    assert len(opened.labels) == opened.scheme.width
    opened.name.encode()  # it stands in the signature, and that in every footer
    assert opened.parameters >= 0


TARGETS: dict[str, Target] = {
    "triples": triples,
    "meanings": meanings,
    "templates": templates,
    "receipts": receipts,
    "bundles": bundles,
}
"""By the name of their folder in the corpus."""


def one_line(error: Exception) -> bool:
    return "\n" not in str(error) and "\r" not in str(error)


def corpus(name: str) -> list[bytes]:
    """The inputs kept for a target, in the order of their names."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def completed(content: bytes, folder: Path) -> bytes:
    """Hashes of a bundle's files put where the corpus leaves room for them; other inputs as they are."""
    if not (folder / MANIFEST).exists():
        return content
    manifest = json.loads((folder / MANIFEST).read_bytes())
    known = {**manifest["files"], **{variant["file"]: variant["sha256"] for variant in manifest["variants"].values()}}
    for name, digest in known.items():
        content = content.replace(b"{" + name.encode() + b"}", digest.encode())
    return content
