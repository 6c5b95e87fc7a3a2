"""Folders of the cache that one of several processes fills."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest

from scorer.storage.kept_folder import keep_folder
from scorer.system.process_marks import own_mark


class Filling:
    """A folder with one file. ``filled``: how many times it was written."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.filled, self.waited = folder, 0, 0

    def is_complete(self) -> bool:
        return (self.folder / "file").is_file()

    def fill(self, empty: Path) -> None:
        self.filled += 1
        (empty / "file").write_text("content")

    def wait(self) -> None:
        self.waited += 1

    def keep(self) -> None:
        keep_folder(self.folder, self.is_complete, self.fill, self.wait)


@pytest.fixture
def filling(tmp_path: Path) -> Filling:
    return Filling(tmp_path / "cache" / "name")


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_it_is_filled_once(filling: Filling) -> None:
    for _ in range(3):
        filling.keep()
    assert filling.filled == 1 and names(filling.folder) == {"file"}
    assert names(filling.folder.parent) == {"name", ".name.lock"}


def test_a_complete_one_is_taken_from_a_cache_that_cannot_be_written(
    filling: Filling, monkeypatch: pytest.MonkeyPatch
) -> None:
    filling.keep()

    def refuse(*arguments: object, **more: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refuse)
    filling.keep()
    assert filling.filled == 1


@pytest.mark.parametrize("there", ["empty folder", "other file", "file", "link"])
def test_what_is_not_complete_is_replaced(filling: Filling, tmp_path: Path, there: str) -> None:
    filling.folder.parent.mkdir()
    if there == "file":
        filling.folder.write_text("x")
    elif there == "link":
        filling.folder.symlink_to(tmp_path / "absent")
    else:
        filling.folder.mkdir()
    if there == "other file":
        (filling.folder / "other").write_text("x")
    filling.keep()
    assert names(filling.folder) == {"file"} and not filling.folder.is_symlink()
    assert names(filling.folder.parent) == {"name", ".name.lock"}


def test_nothing_is_left_of_one_that_could_not_be_filled(filling: Filling) -> None:
    def fail(empty: Path) -> None:
        (empty / "half").write_text("x")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        keep_folder(filling.folder, filling.is_complete, fail, filling.wait)
    assert names(filling.folder.parent) == {".name.lock"}


def test_another_one_that_fills_it_is_waited_for(filling: Filling) -> None:
    """Locks of one process conflict as those of two, because each call opens the file."""
    begun, may_end = threading.Event(), threading.Event()

    def slow(empty: Path) -> None:
        begun.set()
        assert may_end.wait(60)
        filling.fill(empty)

    def waiting() -> None:
        filling.waited += 1
        may_end.set()

    first = threading.Thread(target=keep_folder, args=(filling.folder, filling.is_complete, slow, filling.wait))
    first.start()
    assert begun.wait(60)
    keep_folder(filling.folder, filling.is_complete, filling.fill, waiting)
    first.join(60)
    assert (filling.filled, filling.waited) == (1, 1)


def test_without_locks_the_first_rename_counts(filling: Filling, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    other = Filling(filling.folder)

    def fill_after_another(empty: Path) -> None:
        other.keep()
        (filling.folder / "first").touch()
        filling.fill(empty)

    keep_folder(filling.folder, filling.is_complete, fill_after_another, filling.wait)
    assert (filling.filled, other.filled) == (1, 1)
    assert names(filling.folder) == {"file", "first"}, "that of the other stays"
    assert names(filling.folder.parent) == {"name", ".name.lock"}


def test_what_killed_processes_left_is_removed(filling: Filling) -> None:
    top = filling.folder.parent
    marks = {"dead": own_mark()[:-1] + "x", "alive": own_mark(), "unseen": "other-host:boot:1:2:3", "old": "x:y:1:2:3"}
    for number, (name, mark) in enumerate(marks.items()):
        left = top / f".name.d2t-{number:016x}-{number:016x}.tmp"
        left.mkdir(parents=True)
        (left / ".mark").write_text(mark)
        (left / name).touch()
        if name == "old":
            os.utime(left, (1, 1))
    (top / ".other.d2t-1-1.tmp").mkdir()
    filling.keep()
    left = [path for path in top.iterdir() if path.name.startswith(".name.d2t-")]
    assert {name for path in left for name in names(path)} == {".mark", "alive", "unseen"}
    assert (top / ".other.d2t-1-1.tmp").is_dir(), "of another bundle"
