"""Two weeks of simulated nights with the script of docs/nightly.md: each says on its first lines what happened."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.nightly_script import run_script
from tests.audit.nights import command
from tests.conftest import ROOT

NIGHTS = ROOT.parent / "shared" / "cases" / "nights"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not NIGHTS.is_dir(), reason=f"no simulated nights at {NIGHTS}"),
]
SERIES = "begins a new series"
QUIET = ("Passed", 0, "No rate rose significantly; ")
SAID = {
    1: ("Passed", 0, " of 210 rows are not OK, most of c: "),
    2: QUIET,
    3: QUIET,
    4: ("Failed", 1, "b: pets omitted in "),  # dropped in a third of the texts
    5: ("Failed", 1, "b: pets omitted in "),
    6: QUIET,  # repaired
    7: ("Passed", 0, " of 210 rows are not OK"),  # a template is worded in another way
    8: QUIET,
    9: ("Failed", 1, "No rows: a, b and c had 70 each."),  # an empty export
    10: ("Failed", 1, "420 rows, before 210; 210 rows are there twice."),
    11: QUIET,  # from here on a is worse by a point a night, which so few rows cannot prove
    12: QUIET,
    13: QUIET,
    14: QUIET,
    15: QUIET,
    16: ("Failed", 1, "The mix of system changed: c 70 → 140, a 70 → 20, b 70 → 50; at the earlier mix, not OK "),
    17: ("", 2, "no column 'text'"),
}
"""Title, exit code, and what is said: at the head of the audit, or on stderr."""


def test_each_night_says_what_happened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    templates = Path(shutil.copy(NIGHTS / "templates.json", home))
    for number, (title, code, said) in SAID.items():
        subprocess.run([sys.executable, NIGHTS / "night.py", str(number), "data"], check=True)
        out = f"nights/2026-03-{number:02}"
        if number == 1:
            command("run", "data", "--out", out, "--bundle", "embedded", "--templates", templates)
            command("gates", "init", out)
        if number == 7:
            templates.write_text(templates.read_text().replace("has <object> rooms", "offers <object> rooms"))
        done = run_script(home, f"2026-03-{number:02}", bundle="embedded")
        where = f"night {number}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, where
        if not title:
            assert said in done.stderr, where
            continue
        lines = done.stdout[done.stdout.index(f"\n{title}: {out}\n") + 1 :].splitlines()
        assert said in lines[2], where
        assert (SERIES in done.stderr) == (number == 7), where
        assert f"\nSince {out}" not in done.stdout
        if number == 10:  # the empty night before is not the one that is reused
            assert "420 in, " in done.stdout and " reused" in done.stdout, where
    assert sorted(path.name for path in (home / "nights").glob("2026-*"))[-1] == "2026-03-16"
    assert len(list((home / "nights").glob("passed-*"))) == 2  # a series before and one after the template changed


def test_a_mix_that_changes_is_no_regression(tmp_path: Path) -> None:
    """The rates of three systems are as before; the weakest has twice the rows."""
    outs = {}
    for name in ("before", "after"):
        outs[name] = tmp_path / name
        templates = ("--templates", NIGHTS / "templates.json")
        command("run", NIGHTS / f"mix-{name}", "--out", outs[name], "--bundle", "embedded", *templates)
    gates, changes = tmp_path / "gates.toml", tmp_path / "changes.toml"
    command("gates", "init", outs["before"], "--gates", gates, "--changes", changes)
    both = ("--gates", gates, "--gates", changes)
    shown = command("audit", outs["after"], "--baseline", outs["before"], *both, code=1).stdout.splitlines()
    assert shown[0] == f"Failed: {outs['after']}"
    assert shown[2].startswith(
        "The mix of system changed: c 70 → 140, a 70 → 20, b 70 → 50; at the earlier mix, not OK +1.1 points."
    )
    assert "No rate rose significantly" in shown[2]
    failed = [line for line in shown if line.startswith("- fail ") and "(warn above" in line]
    assert [line.split(" (")[0] for line in failed] == [
        "- fail system=a: rows 20, 70 in the baseline, 71% fewer",
        "- fail system=c: rows 140, 70 in the baseline, 100% more",
    ]
    assert any("at its mix of system" in line for line in shown)
