"""The actor of ``--ray`` as an ordinary object, with a real process below it."""

from __future__ import annotations

from scorer import __version__
from scorer.run.ray.actor import RayWorker

MODULE = "tests.run.ray.echo_worker"


def test_output_is_told_once_and_again_if_a_reply_was_lost() -> None:
    worker = RayWorker()
    assert worker.begin(__version__, module=MODULE) == ""
    worker.send(b"3 0.3\n")
    heard = b""
    while True:
        content, code = worker.listen(60.0, len(heard))
        assert worker.listen(0.0, len(heard))[0].startswith(content), "nothing is forgotten before it is acknowledged"
        heard += content
        if code is not None:
            break
    assert (heard, code) == (b"3\n3\n", 3)
    assert worker.listen(0.0, len(heard)) == (b"", 3)


def test_a_stopped_worker_has_ended() -> None:
    worker = RayWorker()
    worker.stop()
    assert worker.begin(__version__, module=MODULE) == ""
    worker.send(b"0 600\n")
    assert worker.listen(60.0, 0) == (b"0\n", None)
    worker.stop()
    assert worker.listen(60.0, 2) == (b"", -15)


def test_a_node_with_another_version_starts_nothing() -> None:
    assert f"d2t-scorer {__version__}, the driver has 9.9" in RayWorker().begin("9.9")
