"""Lines of text files, compressed or not: the same lines, and what is damaged is refused with its place."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

import pytest

from scorer.storage.reading import text_lines
from scorer.storage.reading.json_lines import parse_lines
from scorer.storage.reading.opened import OpenedFile, RefusedError
from scorer.storage.reading.text_lines import TextLines

TEXT = b"".join(b"%d %s\n" % (i, b"x" * (i % 90)) for i in range(2000))
MARK = b"\xef\xbb\xbf"


def lines_of(path: Path, content: bytes) -> list[bytes]:
    """The lines, after what the file itself must say was checked."""
    path.write_bytes(content)
    with OpenedFile(str(path)) as opened:
        lines = TextLines(opened, lambda: None)
        found = list(lines)
    assert (lines.file_bytes, lines.digest) == (len(content), hashlib.sha256(content).hexdigest())
    return found


@pytest.mark.parametrize("chunk", [7, 1000, 1 << 20])
@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        MARK + TEXT,
        gzip.compress(TEXT, mtime=0),
        gzip.compress(TEXT[:700], mtime=0) + gzip.compress(b"", mtime=0) + gzip.compress(TEXT[700:], mtime=0),
        gzip.compress(TEXT, mtime=0) + bytes(512),
        gzip.compress(MARK + TEXT, mtime=0),
    ],
    ids=["plain", "byte order mark", "one member", "several members", "zeros at the end", "mark inside"],
)
def test_the_lines_do_not_depend_on_compression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, chunk: int
) -> None:
    monkeypatch.setattr(text_lines, "CHUNK_BYTES", chunk)
    assert lines_of(tmp_path / "named by nobody", content) == TEXT.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(TEXT, mtime=0)[:-1], "cut off behind line 2000;"),
        (gzip.compress(TEXT, mtime=0)[:1000], r"cut off behind line \d+;"),
        (gzip.compress(TEXT, mtime=0)[:-8] + bytes(8), r"damaged behind line \d+ .*check"),
        (gzip.compress(TEXT, mtime=0) + b"more", "damaged behind line 2000 "),
        (gzip.compress(gzip.compress(TEXT, mtime=0)), "compressed by gzip twice"),
        (gzip.compress(b"PAR1", mtime=0), "is Parquet"),
        (gzip.compress(b"x\n" + bytes(3 << 20), 1), "line 2 is longer than 2 MiB"),
    ],
    ids=["cut at its end", "cut", "check sum", "bytes behind", "twice", "Parquet", "a long line"],
)
def test_what_cannot_be_unpacked_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.setattr(text_lines, "MOST_LINE_BYTES", 2 << 20)
    with pytest.raises(RefusedError, match=message):
        lines_of(tmp_path / "a.jsonl.gz", content)


def test_many_members_are_unpacked_in_proportion_and_tick_by_the_bytes_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is copied behind each member is counted: it does not grow with the number of members."""
    copied = 0
    unpacker = zlib.decompressobj

    class Counting:
        def __init__(self, form: int) -> None:
            self._inner = unpacker(form)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        @property
        def unused_data(self) -> bytes:
            nonlocal copied
            copied += len(self._inner.unused_data)
            return self._inner.unused_data

    monkeypatch.setattr(text_lines.zlib, "decompressobj", Counting)
    path, ticks = tmp_path / "many.gz", 0
    path.write_bytes(gzip.compress(b"a\n", mtime=0) * 20_000)

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    with OpenedFile(str(path)) as opened:
        assert sum(1 for _ in TextLines(opened, tick)) == 20_000
    assert copied < 4096 * 20_000
    assert ticks < 10


def test_millions_of_blank_lines_are_passed_over_together_and_counted(tmp_path: Path) -> None:
    path, row = tmp_path / "a.gz", b'{"a": 1}\n'
    path.write_bytes(gzip.compress(row + b"\n \r\n" * 2_000_000 + row + b"{\n"))
    with OpenedFile(str(path)) as opened:
        lines = list(TextLines(opened, lambda: None, joins_blank=True))
    assert len(lines) < 2_200_000 and b"".join(lines).count(b"\n") == 4_000_003
    found = parse_lines(lines)
    assert [next(found)[0], next(found)[0]] == [1, 4_000_002]
    with pytest.raises(RefusedError, match="line 4000003 is not JSON"):
        next(found)
