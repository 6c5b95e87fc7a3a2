"""Disks that cannot be read: EIO from the k-th read of one file, in the kernel's own words."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults import harness
from tests.faults.harness import LIMIT_S, assert_nothing_half, assert_same, bytes_of, command, run, summary
from tests.faults.test_full_disk import STRACE, needs_strace

Reference = tuple[Path, Path]
SHARD = "01.parquet"


def failing(path: Path, log: Path, data: Path, out: Path, bundle: Path, when: str) -> tuple[int, str]:
    """Run while reads of one file fail: exit code, and standard error. Skips where nothing is injected."""
    needs_strace()
    # Of all processes, and whatever they read it with.
    inject = ["-P", str(path), "-e", "trace=read,pread64", "-e", f"inject=read,pread64:error=EIO:when={when}"]
    asked = [*STRACE, "-o", str(log), *inject, *command(data, out, bundle)]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=LIMIT_S)
    assert "Traceback" not in found.stderr
    if "(INJECTED)" not in log.read_text():
        pytest.skip("strace attached, but did not inject")
    return found.returncode, found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("when", ["1+", "6"])
def test_an_input_that_cannot_be_read(reference: Reference, tmp_path: Path, bundle: Path, when: str) -> None:
    """It is quarantined, at the first look or in the midst of its rows; all else is scored, and it by the next run."""
    (data, whole), out = reference, tmp_path / "out"
    code, said = failing(data / SHARD, tmp_path / "log", data, out, bundle, when)
    assert code == 3, said
    assert f"quarantined {SHARD}" in said and "Input/output error" in said
    assert_nothing_half(out)
    harness.assert_equation(out)
    assert not (out / "_SUCCESS").exists()
    assert bytes_of(out) == {name: content for name, content in bytes_of(whole).items() if name != SHARD}
    run(data, out, bundle)
    assert_same(out, whole)


def test_an_output_that_cannot_be_read_back(
    reference: Reference, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "in", tmp_path / "out"
    data.mkdir()
    shutil.copy(reference[0] / SHARD, data)
    # Temporary names are random; here they are known, because the kernel is told which file fails.
    (tmp_path / "sitecustomize.py").write_text("import secrets\nsecrets.token_hex = lambda n: '0' * 2 * n\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    code, said = failing(out / f".d2t-{'0' * 16}-{'0' * 16}.tmp", tmp_path / "log", data, out, bundle, "2")
    assert code == 2, said
    assert "Input/output error" in said
    assert_nothing_half(out)
    assert not (out / SHARD).exists() and not list(out.rglob(".*"))
    run(data, out, bundle)
    assert bytes_of(out) == {SHARD: bytes_of(reference[1])[SHARD]}


def test_a_finished_output_that_cannot_be_read(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    """What cannot be read is not believed: it is scored again."""
    (data, whole), out = reference, Path(shutil.copytree(reference[1], tmp_path / "out"))
    code, said = failing(out / SHARD, tmp_path / "log", data, out, bundle, "4")
    assert code == 0, said
    assert_same(out, whole)
    assert summary(out)["shards"]["skipped"] == 7


def test_a_receipt_that_cannot_be_read(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    (data, whole), out = reference, Path(shutil.copytree(reference[1], tmp_path / "out"))
    code, said = failing(out / "_receipts" / f"{SHARD}.json", tmp_path / "log", data, out, bundle, "1+")
    assert code == 2 and "Input/output error" in said, said
    assert bytes_of(out) == bytes_of(whole)
    run(data, out, bundle)
    assert_same(out, whole)


def test_a_bundle_that_cannot_be_read(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    model = bundle / "model.fp32.onnx"
    code, said = failing(model, tmp_path / "log", reference[0], tmp_path / "out", bundle, "1")
    assert code == 2 and f"{model.name} cannot be read: Input/output error" in said, said
    assert not harness.outputs(tmp_path / "out")
