"""Every file and command of docs/data.md, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from tests.conftest import ROOT

BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def column(file: str, name: str) -> list[Any]:
    return list(pq.read_table(file)[name].to_pylist())


def test_every_example_gives_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = []
    for name, _, content in BLOCK.findall(PAGE):
        if name:
            Path(name).write_text(content, encoding="utf-8")
            continue
        for line in content.splitlines():
            result = CliRunner().invoke(app, shlex.split(line)[1:])
            assert result.exit_code == 0, f"{line}: {result.stderr}"
            assert " convert " not in line or " 0 malformed lines" in result.stderr
            printed.append(result.stdout)
    plan, _, _, explained, _, _, _, document, *_ = printed
    assert len(printed) == 10 and Path("products.html").exists()
    assert all(fact in plan for fact in re.findall(r"`(The [^`]+\.)`", PAGE)[:2])
    assert "attributes without a value: 1" in plan
    assert "hallucination" in explained
    assert "The museum is open from 10 am to 6 pm." in document
    assert column("products/products.parquet", "fine") == ["OK", "hallucination", "omission"]
    assert column("hotels/hotels.parquet", "fine") == ["OK", "omission"]  # `embedded` overlooks Oslo for Bergen
    assert [len(found) for found in column("games/games.parquet", "sentences")] == [2]
    assert [len(found) for found in column("answers/answers.parquet", "sentences")] == [2, 1]
    assert column("systems.parquet", "system") == ["alpha", "alpha", "beta", "beta", "beta"]
    assert column("alpha.parquet", "references")[0][1] == "The Thai pub is The Lamb."
