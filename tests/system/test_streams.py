"""What is hidden in texts is shown; readers that go away and full disks behind stdout change no exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.system.terminal import LossyFile, json_visible, visible, was_lost
from tests.audit.nights import gates_file, night, row
from tests.bundles import make_bundle

SHARDS = 3
SCORER = [sys.executable, "-m", "scorer"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, three good shards, three with a broken one among them, and an output that fails a gate."""
    made = tmp_path_factory.mktemp("streams")
    make_bundle(made / "tiny")
    for name in ("good", "broken"):
        (made / name).mkdir()
        for k in range(SHARDS):
            facts = [[f"X{i} | eatType | pub"] for i in range(20)]
            table = pa.table({"text": [f"X{i} is a pub." for i in range(20)], "triples": facts})
            pq.write_table(table, made / name / f"{k}.parquet")
    (made / "broken" / "1.parquet").write_bytes(b"PAR1 and nothing else")
    night(made / "night", [row(f"text {i}", [("food", 0.1)]) for i in range(300)])
    gates_file(made, 'metric = "not_ok_rate"\nfail = 0.01')
    return made


def gone() -> int:
    """A pipe whose reader has left."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full() -> int:
    """A device that is full."""
    return os.open("/dev/full", os.O_WRONLY)


def closed(which: Sequence[int]) -> Callable[[], None]:
    """Make a child start without these descriptors."""
    return lambda: [os.close(descriptor) for descriptor in which] and None


def ended(folder: Path, *arguments: object, out: Any = None, err: Any = None, without: Sequence[int] = ()) -> int:
    """The exit code of ``scorer``, its streams as given."""
    command = [*SCORER, *map(str, arguments)]
    called = subprocess.run(
        command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, cwd=folder, check=False,
        preexec_fn=closed(without) if without else None,
    )  # fmt: skip
    for stream in (out, err):
        if isinstance(stream, int) and stream > 2:
            os.close(stream)
    return called.returncode


@pytest.mark.parametrize(
    ("data", "streams"),
    [
        ("broken", lambda: {"err": gone()}),
        ("good", lambda: {"out": full(), "err": full()}),
        ("broken", lambda: {"without": (0, 1, 2)}),
    ],
)
def test_a_run_goes_on_and_ends_with_its_own_code(data: str, streams: Any, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = 0 if data == "good" else 3
    assert ended(folder, "run", data, "--out", out, "--bundle", "tiny", **streams()) == code
    written = {path.name: pq.read_table(path).num_rows for path in out.glob("*.parquet")}
    assert written == {f"{k}.parquet": 20 for k in range(SHARDS) if code == 0 or k != 1}
    assert (out / "_SUCCESS").exists() == (code == 0)
    # Nothing that was meant for a closed stderr went into a file that got its number.
    assert {path.name for path in (out / "_receipts").iterdir()} == {f"{name}.json" for name in written}


def test_a_full_disk_behind_stdout_is_said(folder: Path) -> None:
    with Path("/dev/full").open("wb") as out:
        command = [*SCORER, "--version"]
        called = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, cwd=folder, check=False)
    assert called.returncode == 0
    assert b"stdout: No space left on device; the output printed there is incomplete" in called.stderr


def test_a_slow_reader_of_a_pipe_that_does_not_block_gets_everything() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    got: list[bytes] = []

    def read() -> None:
        while part := os.read(reading, 4096):
            got.append(part)

    reader = threading.Thread(target=read)
    file = LossyFile(writing, "w", closefd=False)
    content = bytes(range(256)) * 4096
    reader.start()
    assert file.write(content) == len(content)
    os.close(writing)
    reader.join()
    os.close(reading)
    assert b"".join(got) == content
    assert file.failure is None


def test_only_what_somebody_waits_for_counts_as_lost() -> None:
    left, no_space = (LossyFile(descriptor, "w") for descriptor in (gone(), full()))
    for file in (left, no_space):
        assert file.write(b"x") == file.write(b"y") == 1
        file.close()
    assert was_lost(left) is None
    assert was_lost(no_space) == "No space left on device"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "<U+001B>[2J"),
        ("a\nb\tc\r", "a<U+000A>b<U+0009>c<U+000D>"),
        ("\x7f\x9b\x00", "<U+007F><U+009B><U+0000>"),
        ("\u202e\u2066\u200f\u061c\u2028", "<U+202E><U+2066><U+200F><U+061C><U+2028>"),
        ("\u200b\ufeff\u2060", "<U+200B><U+FEFF><U+2060>"),
        ("\ud800 \udcff", "<U+D800> <U+DCFF>"),
        ("Müller, नमस्ते, 日本, می\u200cخواهم, 👩\u200d🚀", "Müller, नमस्ते, 日本, می\u200cخواهم, 👩\u200d🚀"),
    ],
)
def test_what_is_hidden_and_what_is_not(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert json.loads(json_visible(json.dumps(text, ensure_ascii=False))) == text
    json_visible(json.dumps(text, ensure_ascii=False)).encode()
