"""The actor of ``--ray`` as an ordinary object, with a real process below it."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from scorer import __version__
from scorer.run.ray.actor import RayWorker
from scorer.run.ray.paths import SharedPaths

MODULE = "tests.run.ray.echo_worker"


@pytest.fixture
def paths(tmp_path: Path) -> bytes:
    (tmp_path / "probe").write_text("token")
    return pickle.dumps(SharedPaths(str(tmp_path), str(tmp_path / "probe"), "token", (), ()))


def test_output_is_told_once_and_again_if_a_reply_was_lost(paths: bytes) -> None:
    worker = RayWorker()
    assert worker.begin(__version__, 0, 0, paths, MODULE, b"3 0.3") == ""
    heard = b""
    while True:
        content, code = worker.listen(60.0, len(heard))
        assert worker.listen(0.0, len(heard))[0].startswith(content), "nothing is forgotten before it is acknowledged"
        heard += content
        if code is not None:
            break
    assert (heard, code) == (b"3\n3\n", 3)
    assert worker.listen(0.0, len(heard)) == (b"", 3)


def test_a_stopped_worker_has_ended(paths: bytes) -> None:
    worker = RayWorker()
    worker.stop()
    assert worker.begin(__version__, 0, 0, paths, MODULE, b"0 600") == ""
    assert worker.listen(60.0, 0) == (b"0\n", None)
    worker.stop()
    assert worker.listen(60.0, 2) == (b"", -15)


def test_a_node_with_another_version_or_another_folder_starts_nothing(paths: bytes, tmp_path: Path) -> None:
    assert f"d2t-scorer {__version__}, the driver has 9.9" in RayWorker().begin("9.9", 0, 0, b"", MODULE, b"")
    (tmp_path / "probe").unlink()
    assert "is not the folder of the driver" in RayWorker().begin(__version__, 0, 0, paths, MODULE, b"")
