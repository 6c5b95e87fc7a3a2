from __future__ import annotations

import os
from pathlib import Path

import pytest

from scorer.system.files import read_small


def test_a_regular_file_up_to_the_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert read_small(tmp_path / "a", 5) == read_small(tmp_path / "link", 5) == b"12345"
    os.mkfifo(tmp_path / "fifo")  # which would be waited for
    for path, why in (
        (tmp_path / "a", "more than the 4 bytes"),
        (tmp_path / "fifo", "not a regular file"),
        (tmp_path, "not a regular file"),
        (Path("/dev/zero"), "not a regular file"),
        (Path("a\0"), "not a possible file name"),
    ):
        with pytest.raises(OSError, match=why):
            read_small(path, 4)
