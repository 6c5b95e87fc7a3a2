"""The words for models that ship, and how a recorded word is found again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scorer.inference.shipped import SHIPPED, Shipped, folder_of, word_of


@pytest.mark.parametrize("word", SHIPPED)
def test_a_word_names_the_model_in_its_folder(word: str) -> None:
    manifest = json.loads((folder_of(word) / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["name"] == SHIPPED[word].model


def test_anything_else_is_a_path() -> None:
    assert folder_of("bundles/embedded") == Path("bundles/embedded")
    assert folder_of(Path("embedded-e2e-2")) == Path("embedded-e2e-2")


def test_a_recorded_word_follows_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Shipped("another", Path("another"), "")
    monkeypatch.setitem(SHIPPED, "embedded", other)
    assert word_of("embedded", "embedded-e2e") == "embedded-e2e"
    assert word_of("embedded", "another") == "embedded"
    assert word_of("embedded", "never heard of") == "embedded"
    assert word_of("bundles/x", "embedded-e2e") == "bundles/x"
