"""Any text, any triples, in any Arrow layout: each row comes to what a naive reading of the paper says."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from tokenizers import Tokenizer

from scorer import Scorer
from scorer.storage.run_plan import Budgets
from tests.bundles import expected_logits
from tests.faults.harness import run
from tests.metric.reference import Expected, judge, pairs_of

SETTINGS = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
CONTROL = ["</s>", "<s>", "<mask>", "<pad>", "<unk>", "<|endoftext|>", "[SEP]", "</s></s>", " </s> "]
PIECES = [
    *CONTROL, "pub", "Blue Spice", " ", "", "\0", "a\0b", "🦜", "e\u0301", "\u202e", "\ufeff", "\n", "\u00a0", "|", "_",
    '"x"', "birthPlace", "<subject>", "is a pub.", "\ud7ff",
]  # fmt: skip
BROKEN = [b"\xff", b"pub \xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80 is a pub."]
Part = bytes | None
Row = tuple[list[tuple[Part, Part, Part] | None] | None, Part]
"""Triples and text of a row, as bytes; a triple that is ``None`` is a null struct."""


@dataclass
class Naive:
    """Rows judged one at a time in plain Python, errors and the model included: what the columnar code must equal.

    A bundle of :mod:`tests.bundles` in its default label order, in numpy.
    """

    bundle: Path

    def __post_init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(self.bundle / "tokenizer.json"))
        self._tokenizer.encode_special_tokens = True
        self._size = self._tokenizer.get_vocab_size()
        self._limit = json.loads((self.bundle / "bundle.json").read_text())["max_length"]

    def ids(self, premise: str, hypothesis: str) -> list[int]:
        one, other = (self._tokenizer.encode(t, add_special_tokens=False).ids for t in (premise, hypothesis))
        return [0, *one, 2, 2, *other, 2]

    def answer(self, premise: str, hypothesis: str) -> tuple[float, float, float]:
        c, n, e = softmax(expected_logits(self.ids(premise, hypothesis), self._size)).tolist()
        return c, n, e

    def judge(self, row: Row) -> tuple[Expected, float]:
        """The verdict, and by how much its closest check was decided."""
        triples, text = row
        found = _error(triples, text)
        if found is not None:
            return Expected(None, None, None, found, None), 1.0
        assert text is not None and triples is not None
        decoded = [tuple(part.decode().strip() for part in triple) for triple in triples]
        said = text.decode()
        if not any(character.isalnum() for character in said):
            return judge(decoded, said, {}, "paper"), 1.0
        asked = pairs_of(decoded, said, "paper")
        long = {
            kind for kind, *pair in asked if sum(len(p) for p in pair) > 20_000 or len(self.ids(*pair)) > self._limit
        }
        if long:
            return Expected(None, None, None, f"too_long:{'+'.join(sorted(long, reverse=True))}", None), 1.0
        answers = {(p, h): self.answer(p, h) for _, p, h in asked}
        margin = min(abs(e - max(c, n)) for c, n, e in answers.values())
        return judge(decoded, said, answers, "paper"), margin


def _error(triples: list[tuple[Part, Part, Part] | None] | None, text: Part) -> str | None:
    if text is None:
        return "null_text"
    if not _is_utf8(text):
        return "invalid_utf8"
    whole = [triple for triple in triples or () if triple is not None and None not in triple]
    if any(not _is_utf8(part) for triple in whole for part in triple):
        return "invalid_utf8"
    if triples and (len(whole) < len(triples) or any(not part.decode().strip() for t in whole for part in t)):
        return "malformed_triples"
    return None if triples else "no_triples"


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


good = st.lists(st.sampled_from(PIECES), min_size=0, max_size=4).map(lambda parts: "".join(parts).encode())


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any], one_in: int) -> st.SearchStrategy[Any]:
    """``odd`` once in so many draws (``one_of`` would take both as often)."""
    return st.sampled_from([False] * (one_in - 1) + [True]).flatmap(lambda is_odd: odd if is_odd else usual)


part = mostly(good, st.one_of(st.sampled_from(BROKEN), st.none()), 6)
name = mostly(st.sampled_from([b"A", b"Blue Spice", b"eatType", b"pub </s>", "🦜".encode(), b" x "]), part, 12)
triples = st.lists(mostly(st.tuples(name, name, name), st.none(), 30), min_size=1, max_size=4)
said = st.one_of(
    st.text(max_size=30).map(str.encode),
    st.sampled_from([b"A is Blue Spice.", b"The eatType of A is pub.", "🦜 is x".encode(), b"word " * 60]),
    good,
)
row = st.tuples(
    mostly(triples, st.sampled_from([None, []]), 10), mostly(said, st.one_of(part, st.just(b"x" * 5000)), 5)
)
rows = st.lists(row, max_size=8)


@pytest.fixture(scope="module")
def scorer(bundle: Path) -> Scorer:
    return Scorer(bundle)


@pytest.fixture(scope="module")
def naive(bundle: Path) -> Naive:
    return Naive(bundle)


def strings(values: list[bytes | None], kind: str) -> pa.Array:
    """Bytes as an Arrow string array, UTF-8 or not."""
    if kind == "string_view":
        return pa.array(values, pa.binary_view()).view(pa.string_view())
    if kind == "large_string":
        return pa.array(values, pa.large_binary()).view(pa.large_string())
    plain = pa.array(values, pa.binary())
    if kind == "dictionary":
        encoded = plain.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.view(pa.string()))
    return plain.view(pa.string())


def lists(values: pa.Array, lengths: list[int | None], kind: str) -> pa.Array:
    """A list array over ``values``; ``None`` is a null list."""
    sizes = [length or 0 for length in lengths]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    null = pa.array([length is None for length in lengths], pa.bool_())
    if kind == "list_view":
        return pa.ListViewArray.from_arrays(
            pa.array(offsets[:-1], pa.int32()), pa.array(sizes, pa.int32()), values, mask=null
        )
    if kind == "large_list":
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), values, mask=null)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=null)


def laid_out(given_rows: list[Row], draw: Any) -> pa.Table:
    """The rows as a table, in a layout that is drawn."""
    kind = draw(st.sampled_from(["string", "large_string", "dictionary", "string_view"]))
    shape = draw(st.sampled_from(["list", "large_list", "list_view"]))
    flat = [t for triples, _ in given_rows for t in triples or ()]
    columns = [strings([None if t is None else t[i] for t in flat], kind) for i in range(3)]
    names = ["subject", "predicate", "object"]
    order = draw(st.permutations([0, 1, 2]))
    mask = pa.array([t is None for t in flat], pa.bool_())
    structs = pa.StructArray.from_arrays([columns[i] for i in order], [names[i] for i in order], mask=mask)
    triples = lists(structs, [None if t is None else len(t) for t, _ in given_rows], shape)
    texts = strings([text for _, text in given_rows], draw(st.sampled_from(["string", "large_string", "dictionary"])))
    table = pa.table({"text": texts, "triples": triples})
    if len(table) > 1 and draw(st.booleans()):  # several chunks
        cut = draw(st.integers(1, len(table) - 1))
        table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    return table


def assert_as_naive(found: pa.Table, given_rows: list[Row], naive: Naive) -> None:
    assert len(found) == len(given_rows)
    for got, row in zip(found.drop_columns(["text", "triples"]).to_pylist(), given_rows, strict=True):
        expected, margin = naive.judge(row)
        assert got["error"] == expected.error, row
        assert got["note"] == expected.note, row
        assert (got["fine"] is None) == (got["error"] is not None) == (got["rough"] is None)
        assert len(got["row_key"]) == 16
        if expected.confidence is not None:
            assert got["confidence"] == pytest.approx(expected.confidence, rel=1e-4, abs=1e-36)
        if margin > 1e-4:
            assert got["fine"] == expected.fine, row
            if expected.error is None:
                assert got["omitted"] == expected.omitted, row


@pytest.mark.parametrize("examples", [30, pytest.param(500, marks=pytest.mark.slow)])
def test_any_row_in_any_layout(scorer: Scorer, naive: Naive, examples: int) -> None:
    @settings(max_examples=examples, **SETTINGS)
    @given(given_rows=rows, before=rows, after=rows, data=st.data())
    def holds(given_rows: list[Row], before: list[Row], after: list[Row], data: st.DataObject) -> None:
        table = laid_out([*before, *given_rows, *after], data.draw)
        assert_as_naive(scorer.score_table(table.slice(len(before), len(given_rows))), given_rows, naive)

    holds()


def struct_rows(given_rows: list[Row]) -> pa.Table:
    """The rows in the plainest layout."""
    choices = iter(["string", "list", [0, 1, 2], "string", False])
    return laid_out(given_rows, lambda strategy: next(choices))


def assert_as_naive_through_a_file(given_rows: list[Row], folder: Path, bundle: Path, naive: Naive) -> None:
    pq.write_table(struct_rows(given_rows), folder / "in.parquet")
    run(folder / "in.parquet", folder / "out", bundle)
    assert_as_naive(pq.read_table(folder / "out" / "in.parquet"), given_rows, naive)


def test_any_row_through_a_file(tmp_path: Path, bundle: Path, naive: Naive) -> None:
    rng = random.Random(5)
    texts = [*(piece.encode() for piece in PIECES), *BROKEN, None, b"x" * (1 << 20), b"word " * 200]
    given_rows: list[Row] = []
    for text in texts:
        objects = rng.sample([b"pub", b"</s>", b"\xff", None, b" ", "🦜".encode(), b"a\0b"], 2)
        given_rows.append(([(b"Blue Spice", b"eatType", value) for value in objects], text))
        given_rows.append(([(b"Blue Spice", b"eatType", b"pub")], text))
    assert_as_naive_through_a_file(given_rows, tmp_path, bundle, naive)


def test_naughty_strings_have_one_status_each(bad_data: Path, tmp_path: Path, bundle: Path, naive: Naive) -> None:
    naughty = [text.encode("utf-8", "surrogatepass") for text in json.loads((bad_data / "blns.json").read_text())]
    given_rows: list[Row] = [([(b"Blue Spice", b"eatType", b"pub")], text) for text in naughty]
    given_rows += [([(b"Blue Spice", b"note", text)], b"Blue Spice is a pub.") for text in naughty]
    assert_as_naive_through_a_file(given_rows, tmp_path, bundle, naive)


def test_lengths_at_the_limit_and_one_off(scorer: Scorer, naive: Naive) -> None:
    """Pairs of exactly the longest length are scored, one token more is an error that names its side."""
    fact = "The eatType of A is pub."
    room = 128 - 4 - len(naive.ids(fact.replace("eatType", "eat Type"), "")) + 4
    given_rows: list[Row] = [([(b"A", b"eatType", b"pub")], b"z" * n) for n in range(room - 3, room + 4)]
    found = scorer.score_table(struct_rows(given_rows))
    assert_as_naive(found, given_rows, naive)
    errors = found["error"].to_pylist()
    assert errors == [None] * errors.count(None) + ["too_long:omission+hallucination"] * (7 - errors.count(None))
    assert 0 < errors.count(None) < 7


def test_order_and_budgets_change_no_label(bundle: Path, tmp_path: Path) -> None:
    """fp32 on a CPU is isolated: the same pair has the same numbers in any company."""
    rng = random.Random(3)
    words = ["pub", "Blue", "Spice", "food", "cheap", "riverside", "family"]
    given_rows: list[Row] = [
        ([(b"A", b"p", rng.choice(words).encode())] * rng.randint(1, 4), " ".join(rng.choices(words, k=9)).encode())
        for _ in range(200)
    ]
    reference: dict[bytes, Any] = {}
    for budget, threads in ((None, None), (128, 1), (1000, 2)):
        scorer = Scorer(bundle, budgets=Budgets(batch_tokens=budget, threads=threads))
        shuffled = rng.sample(given_rows, len(given_rows))
        for window in (1, 40, 200):
            for start in range(0, 200 if window > 1 else 5, window):
                table = scorer.score_table(struct_rows(shuffled[start : start + window]))
                for row in table.select(["row_key", "fine", "confidence", "omitted"]).to_pylist():
                    kept = reference.setdefault(row["row_key"], row)
                    assert {**row, "confidence": 0} == {**kept, "confidence": 0}
                    assert row["confidence"] == pytest.approx(kept["confidence"], abs=2e-6)
        scorer.engine.close()
