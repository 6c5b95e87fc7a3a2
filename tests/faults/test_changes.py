"""Inputs, options and outputs that change between runs, inputs that change during one, and broken or encrypted ones."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

from scorer.run.inline import Inline
from tests.faults import harness
from tests.faults.harness import Trial, assert_nothing_half, bytes_of, summary

pytestmark = pytest.mark.usefixtures("inline_runs")


def replace(path: Path) -> None:
    pq.write_table(harness.rows(60, 70_000), path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "01.parquet": replace,
    "02.parquet": lambda path: path.write_bytes(path.read_bytes() * 2),
    "04.parquet": lambda path: path.write_bytes(path.read_bytes()[:-50]),
    "05.parquet": Path.unlink,
}


def test_inputs_that_change_after_they_were_first_looked_at(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = trial.own_data(), trial.out
    trial.run()
    shutil.rmtree(out / "_receipts")  # so that all is scored again
    before = bytes_of(out)
    real = Inline.inspect

    def inspect(*args: Any) -> Any:
        found = real(*args)
        for name, change in CHANGES.items():
            change(data / name)
        return found

    monkeypatch.setattr(Inline, "inspect", inspect)
    said = trial.run(code=3)
    monkeypatch.undo()
    assert_nothing_half(out)
    assert summary(out)["shards"] == {"done": 4, "skipped": 0, "failed": 4}
    assert not trial.succeeded
    for name in CHANGES:
        assert f"quarantined {name}" in said
        assert not (out / "_receipts" / f"{name}.json").exists()
    assert bytes_of(out) == before, "an earlier output stays when its shard is quarantined"
    # The next run takes what is there now: two good files, two broken ones, one of them gone.
    (data / "02.parquet").unlink()
    replace(data / "04.parquet")
    trial.undisturbed()
    for name in ("02.parquet", "05.parquet"):  # whose inputs are gone
        (out / name).unlink()
    trial.resume()


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_broken_files_among_good_ones(bad_data: Path, trial: Trial, step: int) -> None:
    data, out = trial.own_data(), trial.out
    bad = sorted(path for path in (bad_data / "parquet").rglob("*") if path.is_file())[::step]
    (data / "bad").mkdir()
    for i, path in enumerate(bad):
        shutil.copy(path, data / "bad" / f"{i:03d}.parquet")
    said = trial.run(code=3)
    assert said.count("quarantined bad/") == len(bad)
    assert_nothing_half(out)
    assert bytes_of(out) == bytes_of(trial.whole)
    assert summary(out)["shards"] == {"done": 8, "skipped": 0, "failed": len(bad)}
    assert summary(out)["rows"] == summary(trial.whole)["rows"]
    assert not trial.succeeded
    shutil.rmtree(data / "bad")
    trial.resume()
    assert not (out / "_failed").exists()


class Keys(encryption.KmsClient):
    def __init__(self, _: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, master: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, master: str) -> bytes:
        return base64.b64decode(wrapped)


def write_encrypted(path: Path, table: pa.Table, columns: list[str], *, plaintext_footer: bool) -> None:
    settings = encryption.EncryptionConfiguration(
        "footer", column_keys={"key": columns}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    pq.write_table(table, path, encryption_properties=properties)


@pytest.mark.parametrize("columns", [["text"], ["weight"], ["text", "weight"]])
@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_shard_is_set_aside_and_says_so(trial: Trial, columns: list[str], plaintext_footer: bool) -> None:
    data, out = trial.own_data(), trial.out
    good = (data / "01.parquet").read_bytes()
    write_encrypted(data / "01.parquet", harness.rows(20), columns, plaintext_footer=plaintext_footer)
    assert "quarantined 01.parquet" in trial.run(code=3)
    # The folder has this word in its name too.
    failed = json.loads((out / "_failed" / "01.parquet.json").read_text().replace(str(trial.base), ""))
    assert "encrypted Parquet" in failed["message"]
    assert set(harness.outputs(out)) == set(harness.outputs(trial.whole)) - {"01.parquet"}
    assert not trial.succeeded
    harness.assert_nothing_half(out)
    (data / "01.parquet").write_bytes(good)
    trial.resume()
