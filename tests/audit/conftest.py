"""A folder in which the script of docs/nightly.md runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.audit.nightly_script import example, program


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A /srv/d2t of its own: the script, this program, a clock that a test sets, and no data, templates or gates."""
    for folder in ("data", "venv/bin"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "nightly.sh").write_text(example("nightly.sh"))
    program(tmp_path / "venv/bin/scorer", f'cd "$D2T_HOME"\nexec {sys.executable} -m scorer "$@"')
    program(tmp_path / "venv/bin/date", 'echo "$TODAY"')
    return tmp_path


@pytest.fixture
def gated_home(home: Path) -> Path:
    """The same with templates of restaurants and gates: no night but the first may change a label."""
    (home / "templates.json").write_text('{"food": "<subject> serves <object> food."}')
    (home / "gates.toml").write_text('[[gates]]\nmetric = "not_ok_rate"\nfail = 0.5\n')
    (home / "changes.toml").write_text('[[gates]]\nmetric = "label_flips"\nfail = 0\n')
    return home
