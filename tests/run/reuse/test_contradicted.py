"""Contradicted facts of reused rows are those of the earlier output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run.calls import run, scorer
from tests.run.reuse.nights import assert_labels_of, full_run

TEXTS = {
    "wrong": "Blue Spice is a pub that serves Japanese food.",
    "left out": "Blue Spice is a pub.",
    "right": "Blue Spice is a pub that serves Thai food.",
    "null": None,
}


@pytest.mark.usefixtures("inline_run")
def test_contradicted_facts_are_copied(tmp_path: Path) -> None:
    """The rows that come from the earlier output have its facts, the changed one those of its new text."""
    data, facts = tmp_path / "in.jsonl", "Blue Spice | eatType | pub ++ Blue Spice | food | Thai"

    def write(texts: dict[str, str | None]) -> None:
        lines = [{"id": name, "triples": facts, "text": text} for name, text in texts.items()]
        data.write_text("".join(json.dumps(line) + "\n" for line in lines))

    write(TEXTS)
    full_run(data, tmp_path / "before", Path("embedded"))
    write(TEXTS | {"right": "Blue Spice is a pub that serves French food."})
    summary = run(data, tmp_path / "out", Path("embedded"), "--reuse", tmp_path / "before")
    rows = assert_labels_of(full_run(data, tmp_path / "full", Path("embedded")), tmp_path / "out").to_pylist()
    assert summary["rows"]["reused"] == 2
    assert {row["id"]: (row["reused"], row["omitted"], row["contradicted"]) for row in rows} == {
        "wrong": (True, [1], [1]), "left out": (True, [1], []), "right": (False, [1], [1]), "null": (False, None, None),
    }  # fmt: skip


def test_a_bundle_without_a_threshold_is_named_once(tmp_path: Path, tiny: Path) -> None:
    """Both workers have it to say."""
    for name in ("a", "b"):
        line = {"triples": "N | food | Thai", "text": f"N serves Thai food in {name}."}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line))
    out = tmp_path / "out"
    result = scorer("run", tmp_path / "*.jsonl", "--bundle", tiny, "--out", out, "--devices", "cpu:2")
    assert result.stderr.count("the column contradicted is null") == 1
    assert "`scorer export` of its checkpoint measures one" in result.stderr
