"""What stops a run before it writes: nothing to score, an output that would be lost, or another one to replace. It says
what it scores again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.run.calls import command, rows, run, scorer

pytestmark = pytest.mark.usefixtures("inline_runs")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, n in (("a.parquet", 30), ("b.parquet", 25), ("c.parquet", 5)):
        pq.write_table(rows(n), folder / name)
    return folder


@pytest.fixture
def out(data: Path, tmp_path: Path, bundle: Path) -> Path:
    """A finished folder of three shards."""
    run(data, tmp_path / "out", bundle)
    return tmp_path / "out"


def test_plan_says_what_a_run_would_score_again_and_refuse(data: Path, out: Path, bundle: Path) -> None:
    (data / "c.parquet").unlink()
    pq.write_table(rows(3), data / "b.parquet")
    told = scorer("plan", data, "--out", out, "--bundle", bundle, "--protocol", "nlgi_eval")
    assert "protocol: paper → nlgi_eval: a.parquet, b.parquet" in told.stdout
    found = json.loads(scorer("plan", data, "--out", out, "--bundle", bundle, "--json").stdout)
    assert (found["shards"], found["done"], found["rows_to_score"]) == (2, 1, 3)
    assert found["again"] == {"its input changed: footer_sha256, mtime_ns, size": ["b.parquet"]}
    assert "c.parquet" in found["refused"] and "(b.parquet: 25 rows, now 3)" in found["refused"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (["--precision", "int8", "--rescore"], "prec: fp32 → int8"),
        (["--keep", "weight"], "keep: "),
        (["--details"], "details: false → true"),
    ],
)
def test_a_run_says_why_shards_are_scored_again(
    data: Path, tmp_path: Path, tiny: Path, change: list[str], reason: str
) -> None:
    out = tmp_path / "out"
    run(data, out, tiny, "--precision", "fp32")
    result = scorer(*command(data, out, tiny), "--precision", "fp32", *change)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("scored again (3 shards)")]
    assert reason in line and line.endswith(": a.parquet, b.parquet, c.parquet")


def test_an_option_with_a_comma_is_not_two_options(data: Path, tmp_path: Path, bundle: Path) -> None:
    """Both used to have one signature, so that a resume and --reuse kept the labels of the other."""
    out = tmp_path / "out"
    run(data, out, bundle, "--optional", "eatType=pub 1,eatType=pub 2")
    summary = run(data, out, bundle, "--optional", "eatType=pub 2", "--optional", "eatType=pub 1", "--rescore")
    assert summary["shards"]["skipped"] == 0
    again = run(data, tmp_path / "other", bundle, "--reuse", out, "--optional", "eatType=pub 1,eatType=pub 2")
    assert again["rows"]["reused"] == 0
    assert again["reuse"][0]["shards_refused"] == {"other signature": 3}


def test_template_files_that_share_twelve_digits_are_told_apart(
    bad_data: Path, data: Path, tmp_path: Path, bundle: Path
) -> None:
    one, two = (bad_data / "templates" / f"prefix-collision-{name}.json" for name in "ab")
    out = tmp_path / "out"
    first = run(data, out, bundle, "--templates", one)
    refused = scorer("run", data, "--out", out, "--bundle", bundle, "--templates", two, code=2).stderr
    assert f"(templates: {one.name} → {two.name})" in refused and "--rescore" in refused
    second = run(data, out, bundle, "--templates", two, "--rescore")
    assert first["signature"] == second["signature"]
    assert second["shards"]["skipped"] == 0
    reused = run(data, tmp_path / "other", bundle, "--templates", one, "--reuse", out)
    assert reused["rows"]["reused"] == 0
    result = scorer("audit", tmp_path / "other", "--baseline", out, code=2)
    assert "was scored differently from" in result.stderr and "templates: " in result.stderr


def test_nothing_is_written_when_nothing_can_be_scored(tmp_path: Path, bundle: Path, data: Path) -> None:
    broken, odd, out = tmp_path / "broken.parquet", tmp_path / "odd.parquet", tmp_path / "out"
    broken.write_bytes(b"PAR1" * 10)
    pq.write_table(rows(3).rename_columns(["fine", "weight", "triples"]), odd)
    damaged = Path(shutil.copytree(bundle, tmp_path / "damaged"))
    (damaged / "model.fp32.onnx").write_bytes(b"x")
    for arguments, message in (
        ([broken], "broken.parquet"),
        ([odd, "--text-column", "fine"], "--prefix"),
        ([data, "--bundle", damaged], "model.fp32.onnx"),
        ([data, "--templates", broken], "template file"),
        ([data, "--device", "cuda"], "cuda"),
        ([data, "--out", data / "out"], "is inside the input"),
    ):
        result = scorer("run", "--bundle", bundle, "--out", out, *arguments, code=2)
        assert message in result.stderr
        assert len(result.stderr.strip().splitlines()) <= 2 and "Traceback" not in result.output
        assert not out.exists() and not (data / "out").exists()


def test_a_run_whose_first_window_has_only_errors_writes_nothing(tmp_path: Path, bundle: Path) -> None:
    data, out = tmp_path / "in", tmp_path / "out"
    data.mkdir()
    bad = pa.table({"text": ["t"] * 70, "triples": ["The Lamb, eatType, pub"] * 70})
    pq.write_table(bad, data / "a.parquet")
    result = scorer("run", data, "--out", out, "--bundle", bundle, code=2)
    assert "a.parquet: no row in the first window can be scored; nothing was written" in result.stderr
    planned = scorer("plan", data, "--bundle", bundle, code=2)
    for stderr in (result.stderr, planned.stderr):
        assert "malformed_triples 70" in stderr and "'The Lamb, eatType, pub'" in stderr
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
