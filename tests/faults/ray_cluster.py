"""What the tests of ``--ray`` share: a cluster of several nodes on this machine, and how they wait for its workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorer.storage.output_folder import OutputFolder
from tests.conftest import ROOT
from tests.faults.harness import Trial
from tests.processes import wait_until

PYTHON = ROOT / ".venv-ray" / "bin" / "python"
"""Of the environment with Ray, which ``make test-slow`` makes."""
WITHOUT_RAY = "Ray has an environment of its own, which `make test-slow` makes"
LIMIT_S = 180.0
ON_CPU = ("--device", "cpu", "--ray-cpus", "1")
MARKS = [str(ROOT).encode(), os.environ.get("PYTEST_XDIST_WORKER", "").encode()]
"""In the environment of every process that these tests start: this tree, and which of several pytest processes."""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}


@dataclass
class Nodes:
    """The cluster of a test."""

    process: subprocess.Popen[str]
    address: str = ""

    def ask(self, command: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        if command:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):  # other lines are Ray's
                return json.loads(line)
        raise AssertionError("the cluster ended")

    def add(self, cpus: int, gpus: int = 0) -> str:
        return self.ask(f"add {cpus} {gpus}")["node"]

    def wait_for(self, count: int) -> None:
        """Wait until so many nodes are alive, the head among them."""
        wait_until(lambda: self.ask("count")["count"] >= count, "the nodes have not come", LIMIT_S)

    def joining(self, mount: str = "") -> list[str]:
        """The command that starts one more node, with one processor, in a process of its own. ``mount``: run first, in
        a mount namespace of the node's."""
        start = [str(PYTHON.with_name("ray")), "start", "--address", self.address, "--num-cpus", "1", "--block"]
        return ["unshare", "--mount", "sh", "-c", f"{mount} && exec {' '.join(start)}"] if mount else start

    def launch(self, trial: Trial, *more: Any) -> subprocess.Popen[str]:
        command = [str(PYTHON), *trial.command("--ray", self.address, *more)[1:]]
        pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=environment(), **pipes)


@contextmanager
def cluster() -> Iterator[Nodes]:
    """A cluster whose head gives out nothing."""
    process = subprocess.Popen(
        [str(PYTHON), "-m", "tests.faults.ray_nodes"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0,
    )
    try:
        nodes = Nodes(process)
        nodes.address = nodes.ask("")["address"]
        yield nodes
    finally:
        try:
            process.communicate(timeout=60)  # the end of its input ends it
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@contextmanager
def elsewhere(command: list[Any], variables: dict[str, str]) -> Iterator[None]:
    """A node that differs from the others, while this context lasts."""
    node = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        node.terminate()
        node.wait(60)


def wait_for_receipt(out: Path) -> None:
    wait_until(
        lambda: (out / "_receipts").exists() and bool(OutputFolder(out).receipts()), "no shard is scored", LIMIT_S
    )


def workers(parent: int | None = None) -> list[int]:
    """Worker processes, by their ids: those of a driver, or all of Ray's actors. Those that have ended and are not
    waited for yet are left out, as are those of tests that run beside this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line, fields = (path / "cmdline").read_bytes(), (path / "stat").read_text().rpartition(")")[2].split()
            environ = (path / "environ").read_bytes()
        except OSError:
            continue
        if (
            (b"ray::RayActor" if parent is None else b"scorer.run.worker") in line
            and fields[0] != "Z"
            and all(mark in environ for mark in MARKS)
            and parent in (None, int(fields[1]))
        ):
            found.append(int(path.name))
    return sorted(found)


def wait_for_workers(out: Path, count: int) -> list[int]:
    """Wait until so many workers run and a shard is done; their process ids."""
    wait_for_receipt(out)
    wait_until(lambda: len(workers()) >= count, "the workers have not come", LIMIT_S)
    return workers()


@contextmanager
def stopped(workers: list[int]) -> Iterator[None]:
    """These workers do nothing while this context lasts, so that the run cannot end."""
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        for worker in workers:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)


def wait_for_fewer(count: int) -> None:
    wait_until(lambda: len(workers()) <= count, "the workers have not ended", LIMIT_S)


def read_until(process: subprocess.Popen[str], *wanted: str) -> str:
    """What a driver says until it has said all of these."""
    assert process.stderr is not None
    heard = ""
    while not all(text in heard for text in wanted):
        line = process.stderr.readline()
        assert line, f"the driver ended with {process.wait(10)}: {heard}"
        heard += line
    return heard
