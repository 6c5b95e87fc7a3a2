"""The words for models that ship, and how a recorded word is found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.inference.shipped import SHIPPED, folder_of


@pytest.mark.parametrize("word", SHIPPED)
def test_a_word_names_the_model_in_its_folder(word: str) -> None:
    manifest = json.loads((folder_of(word) / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["name"] == SHIPPED[word].model


def test_anything_else_is_a_path() -> None:
    assert folder_of("bundles/embedded") == Path("bundles/embedded")


def test_the_word_of_a_model_that_ships_no_more_names_what_to_use() -> None:
    result = CliRunner().invoke(app, ["challenge", "embedded-e2e"])
    assert result.exit_code == 2
    assert "or the word embedded" in result.output
