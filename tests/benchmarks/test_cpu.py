"""A smoke run of the benchmark leaves nothing for ``git status``; a whole run writes the results that are published."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from benchmarks import cpu

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("smoke", "ignored"), [(True, True), (False, False)])
def test_git_ignores_the_results_of_a_smoke_run(
    smoke: bool, ignored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[argparse.Namespace] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cpu, "full_size", lambda *given: None)
    monkeypatch.setattr(cpu, "embedded", lambda *given, **more: None)
    monkeypatch.setattr(cpu, "report", lambda bench, args, started, seconds: asked.append(args))
    cpu.main(["--smoke"] if smoke else [])
    result = ROOT / asked[0].results / "new.json"
    found = subprocess.run(["git", "check-ignore", "-q", str(result)], cwd=ROOT, check=False)
    if found.returncode == 128:
        pytest.skip("not a git working tree")
    assert (found.returncode == 0) == ignored


def test_results_go_where_they_are_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = cpu.Bench(tmp_path, 1, 1, [], 0.0)
    args = argparse.Namespace(results=cpu.results_folder(tmp_path, smoke=True), name=None, smoke=True)
    cpu.report(bench, args, "2026-01-01T00:00:00", 1.0)
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["smoke.json"]
