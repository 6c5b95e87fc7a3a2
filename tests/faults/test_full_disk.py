"""Disks that are full, and file systems that fail to write or to read, in the words of the kernel."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.faults import harness
from tests.faults.harness import LIMIT_S, Trial, assert_nothing_half, bytes_of, finish

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def needs_namespace() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to mount a small file system with")
    tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"a file system cannot be mounted in a user namespace: {tried.stderr.decode().strip()}")
    if subprocess.run([*NAMESPACE, "sh", "-c", '"$1" -c ""', "sh", sys.executable], capture_output=True).returncode:
        pytest.skip(f"{sys.executable} cannot be started in a user namespace")


def fill(trial: Trial, kilobytes: int) -> int:
    """Run with OUT on a file system of a few kilobytes, and resume from a copy of what is there in the end."""
    mount, trial.out = trial.base / "small", trial.base / f"out{kilobytes}"
    mount.mkdir(exist_ok=True)
    script = 'mount -t tmpfs -o size="$1"k none "$2" && shift && where=$1 && to=$2 && shift 2 && "$@"; code=$?; '
    script += 'cp -a "$where"/out/. "$to" 2>/dev/null; exit $code'
    trial.out.mkdir()
    arguments = ["sh", "-c", script, "sh", str(kilobytes), str(mount), str(trial.out)]
    asked = harness.command(trial.data, mount / "out", trial.bundle)
    found = subprocess.run([*NAMESPACE, *arguments, *asked], capture_output=True, text=True, timeout=LIMIT_S)
    assert "Traceback" not in found.stderr
    assert_nothing_half(trial.out)
    assert not list(trial.out.rglob(".*")), "a temporary file was left"
    if found.returncode:
        assert found.returncode == 2, found.stderr
        assert "run again: it resumes" in found.stderr
        assert not trial.succeeded
    trial.resume()
    return found.returncode


def used(whole: Path) -> int:
    """Kilobytes of a finished output on a file system of 4 KiB pages."""
    return sum(4 * -(-path.stat().st_size // 4096) for path in whole.rglob("*") if path.is_file())


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_disk_that_fills_up(trial: Trial, share: float) -> None:
    needs_namespace()
    assert fill(trial, int(used(trial.whole) * share) // 4 * 4) == 2


def test_too_little_space_is_said_before_anything_is_scored(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=20_000))
    assert "has 19 KiB free, and the output of 8 shards needs at least" in trial.run(code=2)
    assert harness.outputs(trial.out) == {}
    monkeypatch.undo()
    trial.resume()


@pytest.mark.parametrize("what", ["parquet", "_plan.json"])
def test_a_limit_on_file_sizes(trial: Trial, what: str) -> None:
    """RLIMIT_FSIZE: a write fails halfway, in the plan or in an output."""
    # The plan holds paths, so its size is that of where the tests run.
    plan = (trial.whole / "_plan.json").stat().st_size
    largest = plan // 2 if what == "_plan.json" else plan + 100
    assert plan + 100 < max(path.stat().st_size for path in harness.outputs(trial.whole).values())
    without = {"PYTHONDONTWRITEBYTECODE": "1"}  # which would be cut off, and found damaged by later processes
    said = finish(trial.launch(limits={resource.RLIMIT_FSIZE: largest}, env=without), 2)
    assert "File too large; raise the limit on file sizes and run again: it resumes" in said
    assert what in said
    assert_nothing_half(trial.out)
    assert not [path for path in trial.out.rglob(".*") if path.is_file()]
    trial.resume()


STRACE = ["strace", "-f", "-qq"]


def needs_strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip("there is no strace to inject faults with")
    if subprocess.run([*STRACE, "-o", "/dev/null", "-e", "trace=fsync", "true"], capture_output=True).returncode:
        pytest.skip("strace cannot attach here")


def assert_failed_cleanly(trial: Trial, code: int, said: str) -> None:
    assert code == 2, said
    assert "Input/output error" in said
    assert "Traceback" not in said
    assert_nothing_half(trial.out)
    assert not list(trial.out.rglob(".*")), "a file whose fsync failed is kept"
    trial.resume()


FAULTY = """
import errno, os, signal
_name, _left = os.environ["TEST_FAULT_AT"].split(":")
_real, _left = getattr(os, _name), int(_left)
def _counted(*args, **kwargs):
    global _left
    if os.environ["TEST_FAULT_BELOW"] in str(args[0]) or isinstance(args[0], int):
        _left -= 1
        if _left == 0 and os.environ["TEST_FAULT"] == "EIO":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return _real(*args, **kwargs)
setattr(os, _name, _counted)
"""


def faulty(trial: Trial, fault: str, call: str, when: int) -> tuple[int, str]:
    """Run with a fault at the k-th call of ``os`` on the output: EIO, or a kill, which strace cannot do everywhere."""
    (trial.base / "site").mkdir(exist_ok=True)
    (trial.base / "site" / "sitecustomize.py").write_text(FAULTY)
    trial.out = trial.base / f"{call}{when}"
    env = {"TEST_FAULT": fault, "TEST_FAULT_AT": f"{call}:{when}", "TEST_FAULT_BELOW": str(trial.out)}
    process = trial.launch(env={**env, "PYTHONPATH": str(trial.base / "site")})
    _, said = process.communicate(timeout=LIMIT_S)
    return process.returncode, said


EVERY_THIRD = [pytest.param(call, range(3, 200, 3), marks=pytest.mark.slow) for call in ("replace", "fsync", "open")]
"""Until a run makes fewer calls."""


@pytest.mark.parametrize(("call", "whens"), [("fsync", [17]), ("replace", [5]), *EVERY_THIRD])
def test_eio_from_the_kth_call(trial: Trial, call: str, whens: Iterable[int]) -> None:
    for when in whens:
        code, said = faulty(trial, "EIO", call, when)
        if code == 0:
            assert when > 17
            break
        assert_failed_cleanly(trial, code, said)


@pytest.mark.parametrize(("call", "whens"), [("replace", [4]), *EVERY_THIRD])
def test_kill_at_the_kth_call(trial: Trial, call: str, whens: Iterable[int]) -> None:
    for when in whens:
        code, said = faulty(trial, "KILL", call, when)
        assert code == -9 or (code == 0 and when > 8), said
        assert_nothing_half(trial.out)
        trial.resume()
        if code == 0:
            break


SHARD = "01.parquet"


def failing(trial: Trial, path: Path, when: str, code: int) -> str:
    """Run while reads of one file fail; its standard error. Skips where nothing is injected."""
    needs_strace()
    # Of all processes, and whatever they read it with.
    inject = ["-P", str(path), "-e", "trace=read,pread64", "-e", f"inject=read,pread64:error=EIO:when={when}"]
    log = trial.base / "log"
    asked = [*STRACE, "-o", str(log), *inject, *trial.command()]
    found = subprocess.run(asked, capture_output=True, text=True, timeout=LIMIT_S)
    assert "Traceback" not in found.stderr
    if "(INJECTED)" not in log.read_text():
        pytest.skip("strace attached, but did not inject")
    assert found.returncode == code, found.stderr
    assert not code or "Input/output error" in found.stderr
    return found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("when", ["1+", "6"])
def test_an_input_that_cannot_be_read(trial: Trial, when: str) -> None:
    """It is quarantined, at the first look or in the midst of its rows; all else is scored, and it by the next run."""
    assert f"quarantined {SHARD}" in failing(trial, trial.data / SHARD, when, 3)
    assert_nothing_half(trial.out)
    harness.assert_equation(trial.out)
    assert not trial.succeeded
    expected = {name: content for name, content in bytes_of(trial.whole).items() if name != SHARD}
    assert bytes_of(trial.out) == expected
    trial.resume()


def test_a_finished_output_that_cannot_be_read(trial: Trial) -> None:
    """What cannot be read is not believed: it is scored again."""
    failing(trial, trial.finished() / SHARD, "4", 0)
    trial.check()
    assert trial.skipped == 7
