"""The child process that reads: it may crash, hang or be killed, and only its shard is lost."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import ShardError
from scorer.storage import ShardReader
from scorer.storage.reading import child
from scorer.storage.reading.frames import PIPE_BYTES
from tests.processes import LIMIT_S, kill_and_wait, wait_gone
from tests.storage.tables import rows_table, write

pytestmark = pytest.mark.usefixtures("fresh_readers")


@pytest.fixture
def shard(tmp_path: Path) -> str:
    return write(tmp_path / "a.parquet", rows_table(1000), row_group_size=100)


@pytest.fixture
def long_shard(tmp_path: Path) -> str:
    """More than the pipe between reader and child holds, so that the child cannot be done before it is stopped."""
    table = rows_table(1000).append_column("padding", pa.array([f"{i:08000d}" for i in range(1000)]))
    assert table.nbytes > 4 * PIPE_BYTES
    return write(tmp_path / "long.parquet", table, row_group_size=100)


def child_of(reader: ShardReader) -> child.Child:
    assert reader._child is not None
    return reader._child


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "its 0 bytes do not begin and end as Parquet"),
        (b"PAR1" + b"x" * 100 + (1 << 30).to_bytes(4, "little") + b"PAR1", "its footer claims 1073741824 bytes"),
        (b"PAR1" + b"\xff" * 100 + (90).to_bytes(4, "little") + b"PAR1", "cannot be read"),
    ],
)
def test_what_is_not_parquet_is_unreadable(reader: ShardReader, tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(ShardError, match=says) as caught:
        reader.probe(str(path))
    assert caught.value.kind == "unreadable"
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_what_is_no_regular_file_is_refused_and_not_waited_for(reader: ShardReader, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.parquet")
    for name, says in (("fifo.parquet", "not a regular file"), ("none", "No such file"), (".", "not a regular file")):
        # Waited for, it would be another error: no progress from its reader.
        with pytest.raises(ShardError, match=says):
            reader.probe(str(tmp_path / name))


def test_a_kill_in_the_middle_neither_loses_nor_repeats_rows(long_shard: str) -> None:
    with ShardReader(timeout_s=LIMIT_S) as reader:
        expected = [len(t) for t in reader.windows(long_shard, max_rows=64, max_bytes=100_000)]
        windows = reader.windows(long_shard, max_rows=64, max_bytes=100_000)
        tables = [next(windows) for _ in range(3)]
        first = child_of(reader).pid
        kill_and_wait(first)
        tables += windows
        assert child_of(reader).pid != first
    assert [len(t) for t in tables] == expected
    assert pa.concat_tables(tables).equals(pq.read_table(long_shard))


def test_a_hang_is_ended_and_tried_once_more(shard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []

    def ask_and_stop(self: child.Child, request: dict[str, object]) -> None:
        stopped.append(self.pid)
        os.kill(self.pid, signal.SIGSTOP)

    with ShardReader(timeout_s=0.3) as reader:
        with monkeypatch.context() as patched:
            patched.setattr(child.Child, "ask", ask_and_stop)
            with pytest.raises(ShardError, match=r"twice, no progress for 0.3 s") as caught:
                reader.probe(shard)
        assert caught.value.kind == "timeout"
        for pid in stopped:
            wait_gone(pid)
        assert len(stopped) == 2


def test_an_iteration_that_is_left_or_crossed_does_not_confuse_the_next(shard: str) -> None:
    with ShardReader(timeout_s=LIMIT_S) as reader:
        next(reader.windows(shard, max_rows=10, max_bytes=1000))
        one = reader.windows(shard, max_rows=600, max_bytes=1 << 20)
        tables = [next(one)]
        assert reader.probe(shard).rows == 1000
        tables += one
        assert pa.concat_tables(tables).equals(pq.read_table(shard))


def test_close_from_another_thread_ends_the_wait(shard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = ShardReader(timeout_s=10 * LIMIT_S)
    reader.probe(shard)
    pid = child_of(reader).pid
    os.kill(pid, signal.SIGSTOP)
    listening = threading.Event()
    real = child.Child._read
    monkeypatch.setattr(child.Child, "_read", lambda *given: (listening.set(), real(*given))[1])
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(lambda: list(reader.windows(shard, max_rows=10, max_bytes=1000)))
        assert listening.wait(LIMIT_S)
        reader.close()
        with pytest.raises(ShardError, match="was ended"):
            waiting.result(LIMIT_S)
    wait_gone(pid)
    with pytest.raises(ShardError, match="was closed"):
        reader.probe(shard)


def test_the_child_has_bounded_memory_and_runs_no_modules_of_the_current_folder(
    shard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(shard).parent)
    for name in ("json", "pyarrow", "numpy", "scorer"):
        Path(f"{name}.py").write_text("raise RuntimeError('was run')")
    with ShardReader(timeout_s=LIMIT_S, memory_bytes=3 << 30) as reader:
        assert reader.probe(shard).rows == 1000
        limits = Path(f"/proc/{child_of(reader).pid}/limits").read_text().splitlines()
    found = {line[:26].strip(): line[26:].split() for line in limits}
    assert found["Max address space"][0] == str(3 << 30)
    assert found["Max core file size"][:2] == ["0", "0"]
