"""Who may give a file its name, and what is never written through."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scorer.errors import OutputError
from scorer.storage import Receipts, RunOutput, ShardWriter
from scorer.storage.durable import atomic_bytes, temporary_name, token_of
from tests.storage.receipts import fingerprint, finish_output, receipt
from tests.storage.tables import rows_table
from tests.storage.test_plan import done, plan, tree


def test_names_of_temporary_files_cannot_be_guessed() -> None:
    names = {temporary_name("a" * 16) for _ in range(1000)}
    assert len(names) == 1000
    assert all(token_of(name) == "a" * 16 for name in names)
    assert token_of(temporary_name()) != token_of(temporary_name())
    for name in (".d2t-0123456789abcdef.tmp", "d2t-0123456789abcdef.tmp", ".d2t-x.tmp", temporary_name() + "x"):
        assert token_of(name) is None


@pytest.mark.parametrize("planted", ["a link to a file", "a link to nothing", "a file"])
def test_what_was_planted_under_a_temporary_name_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """Even where the name is known: it is made by this program or the write fails."""
    name = temporary_name()
    monkeypatch.setattr("scorer.storage.durable.temporary_name", lambda token="": name)
    victim = tmp_path / "victim"
    if planted == "a file":
        (tmp_path / name).write_bytes(b"theirs")
    else:
        (tmp_path / name).symlink_to(victim)
        if planted == "a link to a file":
            victim.write_bytes(b"theirs")
    before = sorted((path.name, path.exists() and path.read_bytes()) for path in tmp_path.iterdir())
    with pytest.raises(OutputError, match=re.escape(f"cannot write {tmp_path}/a.json: File exists")):
        atomic_bytes(tmp_path / "a.json", b"ours")
    assert before == sorted((path.name, path.exists() and path.read_bytes()) for path in tmp_path.iterdir())


def test_files_are_made_with_exclusive_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = os.open

    def spy(path: object, flags: int, *more: int) -> int:
        if token_of(Path(str(path)).name):
            seen.append(flags)
        return real(path, flags, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", spy)
    atomic_bytes(tmp_path / "a.json", b"ours")
    ShardWriter(tmp_path / "a.parquet", rows_table(1).schema).abandon()
    assert len(seen) == 2
    assert all(flags & os.O_EXCL and flags & os.O_CREAT and flags & os.O_NOFOLLOW for flags in seen)


def test_a_holder_that_lost_the_folder_gives_no_file_a_name(tmp_path: Path) -> None:
    """The lease is looked at right before each rename, however long the writing took."""
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("a.parquet"))
        writer = ShardWriter(tmp_path / "a.parquet", rows_table(1).schema, holder=folder.holder)
        writer.write(rows_table(3))
        done(folder, "b.parquet")
        before = tree(tmp_path)
        (tmp_path / "_lock").write_text('{"pid": 1, "host": "x", "started": "y", "boot": "z", "token": "t"}')
        another = receipt("b.parquet", fingerprint("another"))
        attempts: list[Callable[[], object]] = [
            writer.commit,
            lambda: folder.receipts.write(another),
            lambda: folder.receipts.write_failed("b.parquet", "k", "m", None),
            lambda: folder.write_run(b"{}"),
            lambda: finish_output(folder),
        ]
        for attempt in attempts:
            with pytest.raises(OutputError, match="took over this output"):
                attempt()
    assert [name for name in tree(tmp_path) if name != "_failed"] == [n for n in before if token_of(n) is None]
    found = Receipts(tmp_path).read("b.parquet")
    assert found is not None and found.fingerprint == fingerprint()


def write_output(folder: RunOutput) -> None:
    ShardWriter(folder.path / "deep/a.parquet", rows_table(1).schema, holder=folder.holder).abandon()


Attempt = Callable[[RunOutput], object]
LINKED: dict[str, Attempt] = {
    "deep": write_output,
    "deep/a.parquet": write_output,
    "_receipts": lambda folder: folder.receipts.write(receipt("deep/a.parquet")),
    "_receipts/deep": lambda folder: folder.receipts.remove("deep/a.parquet"),
    "_receipts/deep/a.parquet.json": lambda folder: folder.receipts.write(receipt("deep/a.parquet")),
    "_failed": lambda folder: folder.receipts.write_failed("deep/a.parquet", "k", "m", None),
    "_failed/deep": lambda folder: folder.receipts.clear_failed("deep/a.parquet"),
    "_plan.json": lambda folder: folder.write_plan(b"{}"),
    "_run.json": lambda folder: folder.write_run(b"{}"),
    "_SUCCESS": lambda folder: finish_output(folder),
}


@pytest.mark.parametrize("link", LINKED)
@pytest.mark.parametrize("target", ["folder", "file", "nothing"])
def test_links_below_an_output_folder_are_not_written_through(tmp_path: Path, link: str, target: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (elsewhere / "folder/deep").mkdir(parents=True)
    for name in ("file", "folder/a.parquet", "folder/deep/a.parquet.json", "folder/a.parquet.json"):
        (elsewhere / name).write_bytes(b"precious")
    before = {path: path.is_file() and path.read_bytes() for path in elsewhere.rglob("*")}
    with RunOutput.open(out, create=True) as folder:
        (out / link).parent.mkdir(parents=True, exist_ok=True)
        (out / link).symlink_to(elsewhere / target)
        says = rf"out/{link} is a symbolic link, and a run writes nothing through links"
        with pytest.raises(OutputError, match=says):
            folder.refuse_links(["other.parquet", "deep/a.parquet"])
        with pytest.raises(OutputError, match=says):
            LINKED[link](folder)
        assert (out / link).is_symlink()
    assert before == {path: path.is_file() and path.read_bytes() for path in elsewhere.rglob("*")}
