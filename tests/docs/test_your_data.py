"""Every file and command of docs/your-data.md, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "your-data.md"
BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_file_of_the_page_leads_to_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page, said = PAGE.read_text(encoding="utf-8"), []
    for name, language, content in BLOCK.findall(page):
        if name:
            Path(name).write_text(content, encoding="utf-8")
        elif language == "python":
            exec(compile(content, PAGE.name, "exec"), {})
        else:
            for line in content.splitlines():
                words = shlex.split(line)
                assert words[0] == "scorer"
                result = CliRunner().invoke(app, words[1:])
                assert result.exit_code == 0, f"{line}: {result.stderr}"
                said.append(result.stdout)
    plan, explained = said[0], said[3]
    for fact in re.findall(r"`(The [^`]+\.)`", page)[:2]:
        assert fact in plan
    assert "attributes without a value: 1" in plan
    assert "numbers that no fact has: 40 kg" in explained
    assert capsys.readouterr().out == "omission [1]\n"
    assert pq.read_table("products/products.parquet")["fine"].to_pylist() == ["OK", "hallucination", "omission"]
    assert pq.read_table("products/products.parquet")["unsupported_numbers"].to_pylist() == [[], ["40 kg"], []]
    assert pq.read_table("hotels/hotels.parquet")["fine"].to_pylist() == ["OK", "OK", "omission+hallucination"]
    games = pq.read_table("games/games.parquet")
    assert games["unsupported_numbers"].to_pylist() == [[]] and len(games["sentences"][0]) == 2
    answers = pq.read_table("answers/answers.parquet")
    assert [len(sentences) for sentences in answers["sentences"].to_pylist()] == [2, 1]
    assert answers["unsupported_numbers"].to_pylist() == [[], ["9 am"]]
    assert "best part of the document: The museum is open from 10 am to 6 pm." in said[-1]
    assert {"products.html", "hotels.html"} <= {path.name for path in tmp_path.iterdir()}
