"""Gates files: thresholds that could not be meant, and files that are hostile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scorer.audit.gates import LARGEST_FILE, METRICS, OF_BASELINE, SHARES, load_gates
from scorer.errors import UsageError

RATE = '[[gates]]\nmetric = "not_ok_rate"\n'


def load(tmp_path: Path, text: str | bytes) -> None:
    path = tmp_path / "gates.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    load_gates([path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither warn nor fail is given"),
        ("warn = 0.2\nfail = 0.1", "is only reached after"),
        ("fail = 20", "fail = 20, and limits on not_ok_rate are from 0 to below 1; did you mean 0.2?"),
        ("fail = -0.05", "fail = -0.05, and limits on not_ok_rate are from 0 to below 1; did you mean 0.05?"),
        ("fail = 0.1\nmissing = 'silent'", "missing: Invalid enum value 'silent'; the keys are"),
        ("fail = 0.1\ngroup = { n = 0x" + "f" * 5000 + " }", "group = a dict too large to show"),
        ("fail = 0.1\ngroup." + ".".join("a" * 30_000) + " = 1", "a line has more than 100 full stops"),
        ("fail = 0.1\nby = " + "[" * 20000, "is not TOML"),
        ("fail = 0.1\n" + "x" * 5000 + " = 1", "unknown field `x{100,300}; the keys are"),
    ],
)
def test_what_cannot_be_meant(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, RATE + text)
    said = str(caught.value)
    pattern = re.compile(re.escape(message) if message.endswith("?") else message)
    assert pattern.search(said), said
    assert len(said) < 500
    assert said.isprintable()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_bounds(tmp_path: Path, metric: str) -> None:
    text = f'[[gates]]\nmetric = "{metric}"\n'
    load(tmp_path, text + "fail = 0.5")
    never = "0" if metric == "mean_confidence" else "1"
    if metric in SHARES:
        with pytest.raises(UsageError, match=f"fail = {never}, and limits on {metric} are"):
            load(tmp_path, text + f"fail = {never}")
        with pytest.raises(UsageError, match=r"did you mean 0\.95\?"):
            load(tmp_path, text + "fail = 95")
    else:
        assert metric in OF_BASELINE
        load(tmp_path, text + "fail = 95")
    for value in ("-1", "nan", "inf"):
        with pytest.raises(UsageError):
            load(tmp_path, text + f"fail = {value}")
    if metric == "mean_confidence":  # how far it may fall has any sign
        load(tmp_path, text + 'against = "baseline"\nwarn = -0.01\nfail = 0.02')
        with pytest.raises(UsageError, match=r"fail = 20, and .* did you mean 0\.2\?"):
            load(tmp_path, text + 'against = "baseline"\nfail = -20')


def test_only_small_files_that_are_tables_of_gates_are_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than the 65,536 bytes"):
        load(tmp_path, RATE + "fail = 0.1\n" + "#" * LARGEST_FILE)
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "gates.toml")
    (tmp_path / "gates.toml").write_text(RATE + "fail = 0.1\n")
    assert len(load_gates([link])) == 1
    for content in (b"\xff", b"\x00", b'[[gates]]\nmetric = "\\uD800"', b"=" * 10_000):
        with pytest.raises(UsageError, match="is not TOML"):
            load(tmp_path, content)
    for text, message in (
        (RATE.replace("not_ok_rate", "ser"), r"unknown metric 'ser'; the metrics are .*psi_confidence"),
        (RATE.replace("[[gates]]", "[gates]"), r"no \[\[gates\]\] table"),
        (RATE.replace("gates", "gate"), "unknown table 'gate'"),
    ):
        with pytest.raises(UsageError, match=message):
            load(tmp_path, text)
