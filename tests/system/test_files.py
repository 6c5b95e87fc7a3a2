from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from scorer.system.files import read_small


def test_a_regular_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    link = tmp_path / "link"
    link.symlink_to(file)
    assert read_small(file, 5) == read_small(link, 5) == b"12345"
    with pytest.raises(OSError) as caught:
        read_small(file, 4)
    assert caught.value.errno == errno.EFBIG and "more than the 4 bytes" in caught.value.strerror


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    listening = socket.socket(socket.AF_UNIX)
    monkeypatch.chdir(tmp_path)  # the path of a socket has at most 108 bytes
    listening.bind("socket")
    (tmp_path / "folder").mkdir()
    for path, kind in (
        (tmp_path / "fifo", "a FIFO"),
        (tmp_path / "socket", "a socket"),
        (tmp_path / "folder", "a directory"),
        (Path("/dev/zero"), "a device"),
    ):
        with pytest.raises(OSError, match=f"not a regular file but {kind}"):
            read_small(path, 1 << 20)
    listening.close()
