from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from scorer.audit.document import Document
from scorer.system.codec import decode
from tests.audit.nights import SIGNATURE, command, gates_file, night, row


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("nights")
    rows = [row(f"t{i}", [("food", 0.2 if i < 20 else 0.9)], system="[b]" if i % 2 else "a&<") for i in range(100)]
    before = night(folder / "before", rows, shards=3, finished="2026-01-01T03:00:00+00:00")
    return before, night(folder / "after", rows[10:], shards=2, finished="2026-01-02T03:00:00+00:00")


def test_the_console_says_the_essentials(nights: tuple[Path, Path]) -> None:
    text = command("audit", nights[1], "--baseline", nights[0]).stdout
    assert text.startswith(f"NO GATES SET  {nights[1]}\nNo gate was given, so nothing could fail. ")
    assert "\nrows: 90 in, 90 scored, 0 reused\n" in text
    assert "90 rows kept, 0 added, 10 removed; 0 label flips" in text
    assert SIGNATURE in text
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert lines["all rows"][2:4] == ["90", "11.1%"]
    assert "system=[b]" in lines
    assert "system=a&<" in lines


def test_a_gate_that_fails_is_exit_1(nights: tuple[Path, Path], tmp_path: Path) -> None:
    xml = tmp_path / "junit.xml"
    gates = gates_file(
        tmp_path,
        'metric = "not_ok_rate"\nwarn = 0.05\nfail = 0.10',
        'metric = "not_ok_rate"\nwarn = 0.1\nby = ["system"]',
        'metric = "error_rate"\nfail = 0\nmin_rows = 1000',
    )
    result = command("audit", nights[1], "--gates", gates, "--junit", xml, code=1)
    assert "scorer: 1 of 4 gates failed" in result.stderr
    assert result.stdout.startswith("FAIL")
    suite = ElementTree.parse(xml).getroot()[0]
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "1"]
    cases = [(case.get("classname"), [child.tag for child in case]) for case in suite]
    assert cases == [
        ("audit.all rows", ["failure"]),
        ("audit.system=[b]", ["system-out"]),
        ("audit.system=a&<", ["system-out"]),
        ("audit.all rows", ["skipped"]),
    ]
    expected = "all rows: not_ok_rate 11.1%, 95% interval 6.1% to 19.3% (warn above 5.0%, fail above 10.0%)"
    assert suite[0][0].text == expected
    gates_file(tmp_path, 'metric = "not_ok_rate"\nwarn = 0.05\nfail = 0.2')
    assert command("audit", nights[1], "--gates", gates).stdout.startswith("WARN")


def test_the_history_grows_by_a_night_and_a_night_again_replaces_itself(
    nights: tuple[Path, Path], tmp_path: Path
) -> None:
    file = tmp_path / "history.parquet"
    command("audit", nights[0], "--history", file)
    command("audit", nights[1], "--history", file)
    once = pq.read_table(file)
    document = decode(command("audit", nights[1], "--history", file, "--json").stdout.encode(), Document, "--json")
    assert pq.read_table(file).equals(once)
    assert once["night"].to_pylist() == ["2026-01-01T03:00:00+00:00"] * 3 + ["2026-01-02T03:00:00+00:00"] * 3
    assert json.loads(once["group"][0].as_py()) == {}
    assert once["not_ok_rate"].to_pylist()[::3] == [0.2, pytest.approx(10 / 90)]
    assert [line.night for line in document.history] == once["night"].to_pylist()
    command("audit", nights[0], "--history", file)  # an earlier night audited again stays in its place
    assert pq.read_table(file)["night"].to_pylist() == once["night"].to_pylist()
    assert [path.name for path in file.parent.iterdir()] == ["history.parquet"]


def test_a_baseline_that_was_scored_differently_is_named(nights: tuple[Path, Path], tmp_path: Path) -> None:
    other = night(tmp_path / "other", [row()], signature=SIGNATURE.replace("prec:fp32", "prec:int8"))
    assert "scored differently: prec" in command("audit", nights[0], "--baseline", other, "--across-signatures").stdout
