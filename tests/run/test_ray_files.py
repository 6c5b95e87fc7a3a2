"""The bundle and the templates of a run on a node, with a list in the place of Ray's object store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scorer.errors import ScorerError
from scorer.inference.bundle import Bundle
from scorer.run.ray_files import files_of, parts_of, place, with_files_of
from scorer.scoring.settings import Settings
from tests.bundles import make_bundle


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    templates = tmp_path / "templates.json"
    templates.write_text('{"eatType": "<subject> is a <object>."}')
    return Settings(make_bundle(tmp_path / "bundle"), templates=templates)


def test_a_node_that_lacks_the_files_gets_them_once(settings: Settings, tmp_path: Path) -> None:
    files, store, asked = files_of(settings), list[bytes](), list[int]()
    assert place(files, None, store.__getitem__) == "", "the driver's own node uses them where they are"
    parts = parts_of(files, lambda content: (store.append(content), len(store) - 1)[1])

    def get(reference: int) -> bytes:
        asked.append(reference)
        return store[reference]

    shutil.move(tmp_path / "bundle", tmp_path / "elsewhere")
    assert place(files, None, get) is None
    folder = place(files, parts, get)
    assert folder and len(asked) == len(store)
    found = with_files_of(settings.to_plan(), folder)
    assert Bundle.load(found["bundle"]).sha256 == Bundle.load(tmp_path / "elsewhere").sha256
    assert Path(found["templates"]).read_bytes() == (tmp_path / "templates.json").read_bytes()
    assert place(files, None, get) == place(files, parts, get) == folder and len(asked) == len(store)
    Path(folder, "bundle", "tokenizer.json").write_text("{}")
    assert place(files, None, get) is None and place(files, parts, get) == folder
    assert len(asked) == len(store) + 1, "the damaged one alone is sent again"


def test_what_is_damaged_on_its_way_or_at_its_source_is_refused(settings: Settings, tmp_path: Path) -> None:
    files = files_of(settings)
    parts = parts_of(files, lambda content: content)
    (tmp_path / "bundle" / "tokenizer.json").write_text("{}")
    for sent, get in ((parts, lambda content: content[:-1]), (parts_of(files, bytes), bytes)):
        with pytest.raises(ScorerError, match="changed or arrived damaged"):
            place(files, sent, get)
    assert not list((tmp_path / "cache").rglob("*.tmp"))
