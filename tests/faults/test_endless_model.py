"""Models that pass the probes and then never answer: an interrupted run still ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.inference import session
from scorer.metric.inputs import find_columns
from scorer.scoring.pipeline import Window
from tests.faults import harness
from tests.faults.harness import Trial
from tests.faults.hostile_graphs import TOKEN, bundle_with, endless
from tests.inference.wrapping import Wrapped, wrap_sessions
from tests.processes import LIMIT_S, finish, wait_until


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_with(tmp_path_factory.mktemp("endless") / "b", endless())


def interrupt_when_stuck(scorer: Scorer) -> None:
    """Send this process Ctrl-C as soon as a call does not end.

    Not when it begins: then the main thread may be in `pyarrow.array`, which tries to import pandas and swallows
    whatever is raised there, KeyboardInterrupt too.
    """

    def send() -> None:
        deadline = time.monotonic() + LIMIT_S
        seen, since = None, time.monotonic()
        while (seen is None or time.monotonic() - since < 0.5) and time.monotonic() < deadline:
            time.sleep(0.01)
            if (running := scorer.engine.thread._running) is not seen:
                seen, since = running, time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()


def test_ctrl_c_ends_a_call_of_the_main_thread(looping: Path) -> None:
    scorer = Scorer(looping, device="cpu")
    interrupt_when_stuck(scorer)
    with pytest.raises(KeyboardInterrupt):
        scorer.score([("A", "p", "o")], f"A {TOKEN}")
    assert scorer.score([("A", "p", "o")], "A p o").error is None, "the scorer is of use no more"
    scorer.engine.close()
    assert scorer.engine.thread._running is None, "the call goes on"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_a_run(trial: Trial, looping: Path, number: signal.Signals) -> None:
    trial.data, harmless, trial.bundle = trial.base / "in", trial.bundle, looping
    trial.data.mkdir()
    pq.write_table(harness.rows(40), trial.data / "0.parquet")
    stuck = harness.rows(40, 100).set_column(0, "text", pa.array([f"A {TOKEN}"] * 40))
    pq.write_table(stuck, trial.data / "1.parquet")
    process = trial.launch()
    wait_until(lambda: trial.receipts or process.poll() is not None, "no shard is done", LIMIT_S)
    process.send_signal(number)
    said = harness.finish(process, 128 + number)
    assert "the same command resumes" in said
    harness.assert_nothing_half(trial.out)
    assert [path.name for path in trial.receipts] == ["0.parquet.json"]
    trial.bundle = harmless
    trial.undisturbed()
    trial.resume("--rescore")


def test_a_call_that_cannot_be_ended_is_left_behind(looping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One node of a graph may take for ever: the runtime looks only between two."""
    monkeypatch.setattr(session, "_NOTICE_S", 0.05)
    release, entered = threading.Event(), threading.Event()

    class Deaf(Wrapped):
        def run(self, *_: object) -> object:
            entered.set()
            release.wait(LIMIT_S)
            raise RuntimeError("let go")

    wrap_sessions(monkeypatch, Deaf)
    scorer = Scorer(looping, device="cpu")
    table = harness.rows(5)
    window = Window("window", table, find_columns(table.schema, scorer.pipeline.names))
    stream = scorer.pipeline.stream([window])
    waiting = threading.Thread(target=lambda: next(stream, None), daemon=True)
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    waiting.start()
    assert entered.wait(LIMIT_S)
    scorer.engine.close()  # comes back
    assert scorer.engine.thread._running
    release.set()
    waiting.join(LIMIT_S)
    assert not scorer.engine.thread._running


def test_an_interrupted_process_waits_for_no_thread() -> None:
    body = (
        "import threading, sys; from scorer.commands.ending import leave;"
        "threading.Thread(target=threading.Event().wait).start(); print('said'); leave(143)"
    )
    assert finish(body) == (143, "said\n", "")
