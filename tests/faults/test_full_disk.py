"""Disks that are full, and file systems that fail."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

from scorer.errors import OutputError
from tests.faults import harness
from tests.faults.harness import LIMIT_S, assert_nothing_half, assert_same, command, finish, launch, run, summary

Reference = tuple[Path, Path]
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def needs_namespace() -> None:
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to mount a small file system with")
    tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
    if tried.returncode:
        pytest.skip(f"a file system cannot be mounted in a user namespace: {tried.stderr.decode().strip()}")


def on_small_disk(data: Path, out: Path, bundle: Path, kilobytes: int, base: Path) -> tuple[int, str]:
    """Run with OUT on a file system of a few kilobytes; what is there in the end is copied to ``out``."""
    mount = base / "small"
    mount.mkdir(exist_ok=True)
    script = 'mount -t tmpfs -o size="$1"k none "$2" && shift && where=$1 && to=$2 && shift 2 && "$@"; code=$?; '
    script += 'cp -a "$where"/out/. "$to" 2>/dev/null; exit $code'
    out.mkdir()
    arguments = ["sh", "-c", script, "sh", str(kilobytes), str(mount), str(out)]
    found = subprocess.run(
        [*NAMESPACE, *arguments, *command(data, mount / "out", bundle)], capture_output=True, text=True, timeout=LIMIT_S
    )
    return found.returncode, found.stderr


def fill(reference: Reference, tmp_path: Path, bundle: Path, kilobytes: int) -> int:
    data, whole = reference
    out = tmp_path / f"out{kilobytes}"
    code, said = on_small_disk(data, out, bundle, kilobytes, tmp_path)
    assert "Traceback" not in said
    assert_nothing_half(out)
    assert not list(out.rglob(".*")), "a temporary file was left"
    if code:
        assert code == 2, said
        assert "run again: it resumes" in said
        assert not (out / "_SUCCESS").exists()
    run(data, out, bundle)
    assert_same(out, whole)
    return code


def used(whole: Path) -> int:
    """Kilobytes of a finished output on a file system of 4 KiB pages."""
    return sum(4 * -(-path.stat().st_size // 4096) for path in whole.rglob("*") if path.is_file())


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_disk_that_fills_up(reference: Reference, tmp_path: Path, bundle: Path, share: float) -> None:
    needs_namespace()
    assert fill(reference, tmp_path, bundle, int(used(reference[1]) * share) // 4 * 4) == 2


@pytest.mark.slow
def test_a_disk_that_fills_up_at_every_fourth_page(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    needs_namespace()
    full = used(reference[1])
    codes = [fill(reference, tmp_path, bundle, size) for size in range(full // 4 // 4 * 4, full + 64, 16)]
    assert codes[0] == 2 and codes[-1] == 0


def test_too_little_space_is_said_before_anything_is_scored(
    reference: Reference, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=20_000))
    said = run(reference[0], tmp_path / "out", bundle, code=2)
    assert "has 19 KiB free, and the output of 8 shards needs at least" in said
    assert harness.outputs(tmp_path / "out") == {}
    monkeypatch.undo()
    run(reference[0], tmp_path / "out", bundle)
    assert_same(tmp_path / "out", reference[1])


@pytest.mark.parametrize("what", ["parquet", "_plan.json"])
def test_a_limit_on_file_sizes(reference: Reference, tmp_path: Path, bundle: Path, what: str) -> None:
    """RLIMIT_FSIZE: a write fails halfway, in the plan or in an output."""
    data, whole = reference
    out = tmp_path / "out"
    # The plan holds paths, so its size is that of where the tests run.
    plan = (whole / "_plan.json").stat().st_size
    largest = plan // 2 if what == "_plan.json" else plan + 100
    assert plan + 100 < max(path.stat().st_size for path in harness.outputs(whole).values())
    process = launch(data, out, bundle, file_size=largest)
    said = finish(process, 2)
    assert "File too large; raise the limit on file sizes and run again: it resumes" in said
    assert what in said
    assert_nothing_half(out)
    assert not [path for path in out.rglob(".*") if path.is_file()]
    run(data, out, bundle)
    assert_same(out, whole)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


STRACE = ["strace", "-f", "-qq"]


def needs_strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip("there is no strace to inject faults with")
    if subprocess.run([*STRACE, "-o", "/dev/null", "-e", "trace=fsync", "true"], capture_output=True).returncode:
        pytest.skip("strace cannot attach here")


def test_eio_from_fsync_by_the_kernel(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    """The seventh fsync fails, in the kernel's own words."""
    needs_strace()
    out, log = tmp_path / "out", tmp_path / "trace"
    inject = ["-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=7", "-o", str(log)]
    for _ in range(3):
        traced = [*STRACE, *inject, *command(reference[0], out, bundle)]
        found = subprocess.run(traced, capture_output=True, text=True, timeout=LIMIT_S)
        if "(INJECTED)" in log.read_text():
            break
        shutil.rmtree(out)
    else:
        pytest.skip("strace attached, but did not inject")
    assert_failed_cleanly(found.returncode, found.stderr, reference, out, bundle)


def assert_failed_cleanly(code: int, said: str, reference: Reference, out: Path, bundle: Path) -> None:
    assert code == 2, said
    assert "Input/output error" in said
    assert "Traceback" not in said
    assert_nothing_half(out)
    assert not list(out.rglob(".*")), "a file whose fsync failed is kept"
    run(reference[0], out, bundle)
    assert_same(out, reference[1])


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


def faulty(
    reference: Reference, tmp_path: Path, bundle: Path, fault: str, call: str, when: int
) -> tuple[int, str, Path]:
    """Run with a fault at the k-th call of ``os`` on the output: EIO, or a kill, which strace cannot do everywhere."""
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "site" / "sitecustomize.py").write_text(FAULTY)
    out = tmp_path / f"{call}{when}"
    env = {"PYTHONPATH": str(tmp_path / "site"), "TEST_FAULT": fault, "TEST_FAULT_AT": f"{call}:{when}"}
    process = launch(reference[0], out, bundle, env={**env, "TEST_FAULT_BELOW": str(out)})
    _, said = process.communicate(timeout=LIMIT_S)
    return process.returncode, said, out


def killed_at(reference: Reference, tmp_path: Path, bundle: Path, call: str, when: int) -> bool:
    """Kill a run as it makes its k-th call; resume it. Returns whether there were so many calls."""
    code, said, out = faulty(reference, tmp_path, bundle, "KILL", call, when)
    assert code in (0, -9), said
    assert_nothing_half(out)
    run(reference[0], out, bundle)
    assert_same(out, reference[1])
    return code == -9


@pytest.mark.parametrize(("call", "when"), [("fsync", 17), ("replace", 5)])
def test_eio_from_the_kth_call(reference: Reference, tmp_path: Path, bundle: Path, call: str, when: int) -> None:
    code, said, out = faulty(reference, tmp_path, bundle, "EIO", call, when)
    assert_failed_cleanly(code, said, reference, out, bundle)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["replace", "fsync", "open"])
def test_eio_from_every_third_call(reference: Reference, tmp_path: Path, bundle: Path, call: str) -> None:
    for when in range(3, 60, 3):
        code, said, out = faulty(reference, tmp_path, bundle, "EIO", call, when)
        if code == 0:
            assert when > 8
            break
        assert_failed_cleanly(code, said, reference, out, bundle)


@pytest.mark.parametrize(
    ("call", "when"),
    [("replace", 4), *(pytest.param(*one, marks=pytest.mark.slow) for one in (("fsync", 11), ("open", 8)))],
)
def test_kill_at_the_kth_call(reference: Reference, tmp_path: Path, bundle: Path, call: str, when: int) -> None:
    assert killed_at(reference, tmp_path, bundle, call, when)


@pytest.mark.slow
@pytest.mark.parametrize("call", ["replace", "fsync", "open"])
def test_kill_at_every_third_call(reference: Reference, tmp_path: Path, bundle: Path, call: str) -> None:
    when = 1
    while killed_at(reference, tmp_path, bundle, call, when):
        when += 3
    assert when > 8


def test_the_totals_that_cannot_be_written_leave_no_marker(
    reference: Reference, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, whole = reference
    out = tmp_path / "out"

    def full(path: Path, *_: object) -> None:
        raise OutputError(f"cannot write {path}: No space left on device; free some space and run again: it resumes")

    monkeypatch.setattr("scorer.storage.output.RunOutput.write_run", lambda self, content: full(out / "_run.json"))
    run(data, out, bundle, code=2)
    assert not (out / "_SUCCESS").exists() and not (out / "_run.json").exists()
    monkeypatch.undo()
    run(data, out, bundle)
    assert_same(out, whole)
    assert summary(out)["shards"]["skipped"] == 8
    assert json.loads((out / "_plan.json").read_text())["inputs"].keys() == harness.outputs(out).keys()
