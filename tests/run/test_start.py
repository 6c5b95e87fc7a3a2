"""What waits for nothing: the worker of a run, and the hash of the weights."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from scorer import Scorer
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from tests.conftest import ROOT
from tests.processes import is_running, wait_until

HOOK = """
import json, os, subprocess, sys

start = subprocess.Popen.__init__

def noted(self, *arguments, **options):
    with open(os.environ["STARTED"], "a") as file:
        print(json.dumps(sorted(sys.modules)), file=file)
    start(self, *arguments, **options)

subprocess.Popen.__init__ = noted
"""


@pytest.mark.parametrize(
    ("options", "started"),
    [((), 1), (("--no-such-option",), 1), (("--help",), 0), (("-h",), 0), (("--ray=auto", "--devices", "cpu:2"), 0)],
)
def test_the_worker_starts_before_the_command_line_is_imported(
    options: tuple[str, ...], started: int, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    noted = tmp_path / "started"
    noted.touch()
    sample, out = ROOT / "scorer" / "embedded" / "domains.parquet", tmp_path / "out"
    subprocess.run(
        [sys.executable, "-m", "scorer", "run", sample, "--bundle", "embedded", "--out", out, *options],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "STARTED": str(noted)},
        capture_output=True,
        check=False,
    )
    assert (out / "_SUCCESS").exists() == (not options)
    processes = [set(json.loads(line)) for line in noted.read_text().splitlines()]
    assert len(processes) == started  # one worker in all
    assert not any({"typer", "rich", "pyarrow", "numpy"} & modules for modules in processes)


SLOW = """
import os, pathlib, signal, subprocess, sys, time

mark, number = pathlib.Path(os.environ["MARK"]), int(os.environ["NUMBER"])

if "scorer.run.worker" in " ".join(sys.orig_argv):  # a worker that takes for ever to import
    mark.with_name("number").write_text(str(os.getpid()))
    mark.with_name("number").rename(mark.with_name("worker"))  # with its content, or not at all
    time.sleep(600)

class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["AT"] and not mark.exists():
            while not mark.with_name("worker").exists():
                time.sleep(0.01)
            mark.touch()
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Importing())
"""


@pytest.mark.parametrize("at", ["typer", "scorer.commands.run", "scorer.run.driver"])
@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_while_modules_are_imported_is_one_line_and_ends_the_worker(
    at: str, number: signal.Signals, word: str, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    sample, out = ROOT / "scorer" / "embedded" / "domains.parquet", tmp_path / "out"
    paths = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "MARK": str(tmp_path / "mark"), "AT": at}
    ended = subprocess.run(
        [sys.executable, "-m", "scorer", "run", sample, "--bundle", "embedded", "--out", out],
        env={**os.environ, **paths, "NUMBER": str(int(number))},
        capture_output=True,
        text=True,
        check=False,
    )
    notes = [line for line in ended.stderr.splitlines() if not line.startswith("note:")]
    assert (ended.returncode, notes) == (128 + number, [f"scorer: {word}; the same command resumes"])
    worker = int((tmp_path / "worker").read_text())
    wait_until(lambda: not is_running(worker), "the worker runs on")
    assert not out.exists()


def test_the_worker_of_a_refused_command_ends_with_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    ended = subprocess.run(
        [sys.executable, "-m", "scorer", "run", "--no-such-option"],
        env={
            **os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "MARK": str(tmp_path / "mark"), "AT": "typer",
            "NUMBER": "0",  # no signal: the command goes on when its worker runs
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 2 and "No such option" in ended.stderr
    assert not is_running(int((tmp_path / "worker").read_text()))


CRASHING = """
import os, pathlib, signal, time

mark = pathlib.Path(os.environ["MARK"])
mark.write_text((mark.read_text() if mark.exists() else "") + "x")
time.sleep(float(os.environ["DELAY"]))
os.kill(os.getpid(), signal.SIGILL)
"""


@pytest.mark.parametrize("delay", ["0", "0.3"])
def test_a_runtime_that_crashes_while_it_is_loaded_is_not_blamed_on_inputs(delay: str, tmp_path: Path) -> None:
    """It is loaded in a thread while footers are read, so that a worker ends at any of them."""
    for name in ("modules", "in"):
        (tmp_path / name).mkdir()
    (tmp_path / "modules" / "onnxruntime.py").write_text(CRASHING)
    for number in range(12):
        shutil.copy(ROOT / "scorer" / "embedded" / "domains.parquet", tmp_path / "in" / f"{number}.parquet")
    mark, paths = tmp_path / "mark", f"{tmp_path / 'modules'}{os.pathsep}{ROOT}"
    ended = subprocess.run(
        [sys.executable, "-m", "scorer", "run", tmp_path / "in", "--bundle", "embedded", "--out", tmp_path / "out"],
        env={**os.environ, "PYTHONPATH": paths, "MARK": str(mark), "DELAY": delay},
        capture_output=True,
        text=True,
        check=False,
    )
    said = ended.stderr.splitlines()[-1]
    assert ended.returncode == 2 and said.startswith("scorer: the worker that opened the bundle embedded on auto ended")
    assert not (tmp_path / "out").exists()
    assert len(mark.read_text()) <= 2  # while footers were read, and by itself


def test_the_weights_are_hashed_while_the_device_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, check, resolve = threading.Event(), Bundle.variant, verification.resolve_device

    def checked(bundle: Bundle, name: str) -> Path:
        found = check(bundle, name)
        hashed.set()
        return found

    def resolved(*arguments: Any) -> Any:
        assert hashed.wait(60)
        return resolve(*arguments)

    monkeypatch.setattr(Bundle, "variant", checked)
    monkeypatch.setattr(verification, "resolve_device", resolved)
    with Scorer.embedded(device="cpu") as scorer:
        assert scorer.score_facts(["Blue Spice is a pub."], "Blue Spice is a pub.").rough == "OK"
