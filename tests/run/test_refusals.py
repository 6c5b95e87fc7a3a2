"""What stops a run before, or shortly after, it begins, and what it says then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.run.calls import rows, run, scorer


def test_nothing_is_written_when_nothing_can_be_scored(tmp_path: Path, bundle: Path, data: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1" * 10)
    odd = tmp_path / "odd.parquet"
    pq.write_table(rows(3).rename_columns(["fine", "weight", "triples"]), odd)
    out = tmp_path / "out"
    damaged = Path(shutil.copytree(bundle, tmp_path / "damaged"))
    (damaged / "model.fp32.onnx").write_bytes(b"x")
    twin = tmp_path / "elsewhere" / "a.parquet"
    twin.parent.mkdir()
    shutil.copy(data / "a.parquet", twin)
    newer = Path(shutil.copytree(bundle, tmp_path / "newer"))
    (newer / "bundle.json").write_text('{"schema": 99}')
    for arguments, message in (
        ([broken, "--bundle", bundle], "broken.parquet"),
        ([odd, "--bundle", bundle], "--text-column"),
        ([odd, "--bundle", bundle, "--text-column", "fine"], "--prefix"),
        ([tmp_path / "nowhere", "--bundle", bundle], "nowhere"),
        ([data, "--bundle", damaged], "model.fp32.onnx"),
        ([data, "--bundle", newer], "schema 99"),
        ([data, "--bundle", bundle, "--templates", broken], "template file"),
        ([data, "--bundle", bundle, "--device", "cuda"], "cuda"),
        ([data, "--bundle", bundle, "--precision", "fp16"], "fp16"),
        ([data, "--bundle", bundle, "--optional", "x"], "PREDICATE=OBJECT"),
        ([data, twin, "--bundle", bundle], "a.parquet"),
    ):
        result = scorer("run", *arguments, "--out", out, code=2)
        assert message in result.stderr
        assert len(result.stderr.strip().splitlines()) <= 2
        assert "Traceback" not in result.output
        assert not out.exists()


def test_an_output_folder_that_is_not_ours_or_inside_the_input_is_refused(
    data: Path, tmp_path: Path, bundle: Path
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("precious")
    for out in (foreign, data / "out", data):
        result = scorer("run", data, "--out", out, "--bundle", bundle, code=2)
        assert str(out) in result.stderr
    assert sorted(p.name for p in foreign.iterdir()) == ["thesis.tex"]
    assert not (data / "out").exists()


@pytest.mark.slow
def test_a_run_whose_first_rows_nearly_all_fail_stops(tmp_path: Path, bundle: Path) -> None:
    data, out = tmp_path / "in.parquet", tmp_path / "out"
    pq.write_table(
        pa.table({"text": ["t"] * 20_000, "mr": ["name[A], eatType[pub]"] * 500 + ["not an MR"] * 19_500}), data
    )
    result = scorer("run", data, "--out", out, "--bundle", bundle, code=2)
    assert "malformed_triples" in result.stderr
    assert not (out / "_SUCCESS").exists()
    assert run(data, out, bundle)["rows"]["errors"] == {"malformed_triples": 19_500}


def test_a_run_whose_first_window_has_only_errors_writes_nothing(tmp_path: Path, bundle: Path) -> None:
    data, out = tmp_path / "in", tmp_path / "out"
    data.mkdir()
    bad = pa.table({"text": ["t"] * 70, "triples": ["The Lamb, eatType, pub"] * 70})
    pq.write_table(bad, data / "a.parquet")
    result = scorer("run", data, "--out", out, "--bundle", bundle, code=2)
    assert "a.parquet: not one row of the first window" in result.stderr
    assert "malformed_triples 70" in result.stderr and "'The Lamb, eatType, pub'" in result.stderr
    assert not out.exists()
    good = pa.table({"text": ["t"], "triples": ["The Lamb | eatType | pub"]})
    pq.write_table(good, data / "b.parquet")  # then only one shard is bad, which the run counts
    scorer("run", data, "--out", out, "--bundle", bundle, code=3)
    assert pq.read_table(out / "a.parquet")["error"].to_pylist() == ["malformed_triples"] * 70


def test_error_rows_above_the_rate_exit_3_with_a_success_marker(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    result = scorer("run", data, "--out", out, "--bundle", bundle, code=3)
    assert "--max-error-rate" in result.stderr
    assert (out / "_SUCCESS").exists()
    scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "0.1")
