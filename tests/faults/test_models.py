"""Models that give no numbers, the same numbers, none for want of memory, or never answer."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.inference import session
from scorer.metric.inputs import find_columns
from scorer.scoring.pipeline import Window
from tests.bundles import make_bundle
from tests.faults import harness
from tests.faults.harness import Trial, run, summary
from tests.faults.hostile_graphs import TOKEN, bundle_with, endless, vast
from tests.faults.test_anything import Naive, Row, assert_as_naive, struct_rows
from tests.inference.wrapping import Wrapped, wrap_sessions
from tests.processes import LIMIT_S, finish, wait_until

pytestmark = pytest.mark.usefixtures("inline_runs")

SHARE = 10
"""One row in so many holds the token that the model cannot stand."""


def shard(path: Path) -> list[bool]:
    """Write a shard; tells which rows hold the token."""
    bad = [i % SHARE == 3 for i in range(100)]
    table = harness.rows(100)
    texts = [f"A is pub number {i}" + (" @" if at else "") for i, at in enumerate(bad)]
    pq.write_table(table.set_column(0, "text", pa.array(texts, pa.string())), path)
    return bad


@pytest.mark.parametrize(
    ("value", "precisions"),
    [*((float(value), ("fp32",)) for value in ("nan", "inf", "-inf")), (float("nan"), ("fp32", "int8"))],
)
def test_what_is_not_finite_is_an_error_of_its_row(tmp_path: Path, value: float, precisions: tuple[str, ...]) -> None:
    made = make_bundle(tmp_path / "b", precisions=precisions, bad=dict.fromkeys(precisions, ("@", value)))
    bad = shard(tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out", made, "--precision", precisions[-1])
    found = pq.read_table(tmp_path / "out" / "in.parquet")
    errors = found["error"].to_pylist()
    assert [error is not None and error.startswith("not_finite") for error in errors] == bad
    assert [fine is None for fine in found["fine"].to_pylist()] == bad
    harness.assert_equation(tmp_path / "out")
    assert summary(tmp_path / "out")["rows"]["errors"] == {"not_finite": 100 // SHARE}


def test_what_int8_cannot_say_fp32_says(tmp_path: Path) -> None:
    made = make_bundle(tmp_path / "b", precisions=("fp32", "int8"), bad={"int8": ("@", float("nan"))})
    shard(tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out", made, "--precision", "int8")
    run(tmp_path / "in.parquet", tmp_path / "whole", made, "--precision", "fp32")
    assert pq.read_table(tmp_path / "out" / "in.parquet")["error"].null_count == 100
    for column in ("fine", "omitted"):
        one, other = (pq.read_table(tmp_path / o / "in.parquet")[column].to_pylist() for o in ("out", "whole"))
        assert one == other


class Full(Wrapped):
    """A session on a device whose memory takes only so many tokens at once."""

    def __init__(self, session: Any, tokens: int) -> None:
        super().__init__(session)
        self._tokens = tokens

    def run(self, names: Any, feed: dict[str, Any], options: Any = None) -> Any:
        if feed["input_ids"].size > self._tokens:
            raise RuntimeError("Failed to allocate memory for requested buffer")
        return self.inner.run(names, feed, options)


@pytest.mark.parametrize("limited", [False, True])
def test_a_model_that_takes_all_memory_costs_its_rows(tmp_path: Path, limited: bool) -> None:
    """A call that asks for more than there is: by its own size, or by what this process may have."""
    made = bundle_with(tmp_path / "b", vast(1 << 31 if limited else 1 << 44))
    data = tmp_path / "in.parquet"
    bad = shard(data)
    limits = {resource.RLIMIT_AS: 6 << 30} if limited else {}
    harness.finish(harness.launch(data, tmp_path / "out", made, limits=limits))
    errors = pq.read_table(tmp_path / "out" / "in.parquet")["error"].to_pylist()
    assert [error is not None and error.startswith("out_of_memory:") for error in errors] == bad
    harness.assert_equation(tmp_path / "out")
    assert summary(tmp_path / "out")["rows"]["errors"] == {"out_of_memory": 100 // SHARE}


def test_a_device_that_is_full_costs_the_longest_rows(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, naive = Scorer(bundle), Naive(bundle)
    given_rows: list[Row] = [([(b"A", b"p", b"o")], b"word " * n) for n in (1, 2, 3, 5, 8, 12, 16)]
    assert_as_naive(whole.score_table(struct_rows(given_rows)), given_rows, naive)
    wrap_sessions(monkeypatch, lambda session: Full(session, 64))
    scorer = Scorer(bundle)
    found = scorer.score_table(struct_rows(given_rows))
    errors = found["error"].to_pylist()
    fit = errors.count(None)
    assert 0 < fit < len(errors)
    assert all(error is None for error in errors[:fit])
    assert all(error.startswith("out_of_memory:") for error in errors[fit:])
    assert_as_naive(found.slice(0, fit), given_rows[:fit], naive)


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
            if (running := scorer.engine.thread.running) is not seen:
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
    assert scorer.engine.thread.running is None, "the call goes on"


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
    Scorer(looping, device="cpu").close()  # from here on its verification is on record
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
    assert scorer.engine.thread.running
    release.set()
    waiting.join(LIMIT_S)
    wait_until(lambda: scorer.engine.thread.running is None, "the call does not end", LIMIT_S)


def test_an_interrupted_process_waits_for_no_thread() -> None:
    body = (
        "import threading, sys; from scorer.commands.ending import leave;"
        "threading.Thread(target=threading.Event().wait).start(); print('said'); leave(143)"
    )
    assert finish(body) == (143, "said\n", "")
