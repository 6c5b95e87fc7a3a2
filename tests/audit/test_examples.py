"""The gates that README and docs give as examples find what a reader would expect them to find."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.audit import AuditOptions, audit
from tests.audit.nights import night, of_system
from tests.conftest import ROOT
from tests.docs.test_examples import blocks


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The second has more bad rows of the first system."""
    folder = tmp_path_factory.mktemp("nights")
    return [
        night(folder / str(start), [one for s in "abc" for one in of_system(bad if s == "a" else 12, 120, s, start)])
        for start, bad in ((0, 12), (200, 26), (400, 12))
    ]


@pytest.mark.parametrize("page", ["README.md", "docs/audit.md"])
def test_a_rise_by_a_tenth_in_a_group_of_120_rows_fails(page: str, nights: list[Path], tmp_path: Path) -> None:
    before, after, same = nights
    files = []
    for number, text in enumerate(one for one in blocks(ROOT / page, "toml") if "[[gates]]" in one):
        files.append(tmp_path / f"{number}.toml")
        files[-1].write_text(text)
    assert files
    document = audit(after, AuditOptions(baseline=before, gates=tuple(files)))
    (failed,) = [gate for gate in document.gates if gate.status == "fail"]
    assert (failed.group, failed.value) == ({"system": "a"}, pytest.approx(14 / 120))
    document = audit(same, AuditOptions(baseline=before, gates=tuple(files), require_gates=True))
    assert document.status == "pass"
    assert not document.checked.nothing_checked
