"""The probe pairs: lengths, balance, determinism; a user's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from export.probes import COUNT, Probe, built_in_probes, merge, read_probes
from export.random_init import train_tokenizer
from export.sentences import FRAMES, frame_pairs
from export.tokenization import PairTokenizer
from scorer.errors import UsageError

Log = tuple[list[str], Callable[[str], None]]


@pytest.fixture(scope="module")
def tokenizer() -> PairTokenizer:
    return PairTokenizer(train_tokenizer(2000), "<pad>", "tokenizer.json")


@pytest.mark.parametrize("max_length", [512, 128, 40, 16])
def test_probes_span_all_lengths(tokenizer: PairTokenizer, max_length: int) -> None:
    probes = built_in_probes(tokenizer, max_length)
    assert len(probes) == len(set(probes)) == COUNT
    lengths = [probe.tokens for probe in probes]
    assert lengths == sorted(lengths) and (lengths[0], lengths[-1]) == (5, max_length)
    assert all(probe.tokens == len(tokenizer.encode(probe.premise, probe.hypothesis)) for probe in probes)
    assert probes == built_in_probes(tokenizer, max_length)


def test_lengths_of_a_full_size_model(tokenizer: PairTokenizer) -> None:
    lengths = [probe.tokens for probe in built_in_probes(tokenizer, 512)]
    assert sum(lengths) < 13_000
    assert all(any(low < n <= 2 * low for n in lengths) for low in (8, 16, 32, 64, 128, 256))


def test_no_probe_holds_a_special_token_or_a_surrogate(tokenizer: PairTokenizer) -> None:
    for probe in built_in_probes(tokenizer, 512):
        assert "<" not in probe.premise + probe.hypothesis
        (probe.premise + probe.hypothesis).encode()


def test_frames_are_filled(tokenizer: PairTokenizer) -> None:
    filled = list(frame_pairs())
    assert len(filled) == sum(len(f.names) * len(f.values) for f in FRAMES) > 200
    assert not any("{" in text for _, *pairs in filled for pair in pairs for text in pair[:2])
    meant = Counter(pair.meant for _, *pairs in filled for pair in pairs)
    assert len(set(meant.values())) == 1 and len(meant) == 3


def test_own_pairs_from_parquet_and_tsv(tokenizer: PairTokenizer, tmp_path: Path, lines: Log) -> None:
    rows = [("A pub.", "It is a pub."), ("x " * 400, "Too long."), ('say "hi"', "Yes.")]
    table = pa.table({"hypothesis": [b for _, b in rows], "premise": [a for a, _ in rows], "other": [1, 2, 3]})
    pq.write_table(table, tmp_path / "own.parquet")
    text = "premise\thypothesis\n" + "".join(f"{a}\t{b}\n" for a, b in rows)
    (tmp_path / "own.tsv").write_text(text, encoding="utf-8")
    for name in ("own.parquet", "own.tsv"):
        found = read_probes(tmp_path / name, tokenizer, 100, lines[1])
        assert {(p.premise, p.hypothesis) for p in found} == {rows[0], rows[2]}
    assert "1 of 3 pairs in own.parquet are too long" in lines[0][0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "text\tother\n1\t2\n", r"has the columns \['text', 'other'\]"),
        ("a.tsv", "premise\thypothesis\nonly one\n", "row 0 is"),
        ("a.tsv", "premise\thypothesis\n", "none of at most 100 tokens"),
        ("a.tsv", "premise\thypothesis\na </s> b\tc\n", r"contains the special token </s>; remove it"),
        ("a.parquet", "PAR1", "cannot be read"),
        ("a.tsv", None, "cannot be read"),
    ],
)
def test_own_pairs_that_are_refused(
    tokenizer: PairTokenizer, tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=message):
        read_probes(tmp_path / name, tokenizer, 100, lambda _: None)


def test_merging_drops_repetitions() -> None:
    a, b = Probe("a", "b", 7), Probe("c", "d", 6)
    assert merge([a, b], [a]) == [b, a]
