"""No option that writes a file for people replaces or extends a Parquet file, which may be an input."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app

OPTIONS = {
    "audit --report": ["audit", "out", "--report"],
    "audit --junit": ["audit", "out", "--junit"],
    "audit --summary": ["audit", "out", "--summary"],
    "audit --metrics": ["audit", "out", "--metrics"],
    "sample --file": ["sample", "out", "--file"],
    "sample --page": ["sample", "out", "--file", "new.csv", "--page"],
    "challenge --picture": ["challenge", "embedded", "--picture"],
    "--log-file": ["run", "in.parquet", "--bundle", "embedded", "--out", "new", "--log-file"],
}


@pytest.mark.parametrize("arguments", OPTIONS.values(), ids=OPTIONS)
def test_a_parquet_file_is_kept(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    place = tmp_path / "in.parquet"
    pq.write_table(pa.table({"text": ["t"]}), place)
    before = place.read_bytes()
    ended = CliRunner().invoke(app, [*arguments, str(place)])
    assert ended.exit_code == 2 and "is a Parquet file" in ended.stderr
    assert place.read_bytes() == before
    assert not (tmp_path / "new").exists()


def test_a_log_file_is_no_file_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "_receipts").mkdir()
    receipt = tmp_path / "_receipts" / "a.parquet.json"
    receipt.write_bytes(b"{}")
    ended = CliRunner().invoke(app, ["doctor", "--log-file", str(receipt)])
    assert ended.exit_code == 2 and "reserved for the run" in ended.stderr
    assert receipt.read_bytes() == b"{}"
