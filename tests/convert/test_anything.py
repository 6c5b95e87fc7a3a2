"""Whatever the bytes are: rows or one line that says why not, and never a traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from scorer.commands.convert import app
from tests.convert.conftest import Convert, Write

PIECES = [
    b'"', b"'", b"\t", b",", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"name[A]", b"food[B]", b"mr", b"output",
    b"text", b" ", b"a | b | c", b"<br>", b"<entry>", b"</entry>", b"<benchmark>", b"</benchmark>", b"<lex>",
    b"</lex>", b"<mtriple>",
    b"</mtriple>", b"<modifiedtripleset>", b"</modifiedtripleset>", b"<!DOCTYPE x [", b"&a;", b"<text>", b"</text>",
]  # fmt: skip
CONTENT = st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join))
HEADS = st.sampled_from([b"", b"MR\toutput\n", b"mr,text\n", b"mr\n", b"<benchmark><entry>"])


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(["e2e", "webnlg"]), head=HEADS, content=CONTENT, strict=st.booleans())
def test_bytes(kind: str, head: bytes, content: bytes, strict: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        path, out = Path(name) / "in.txt", Path(name) / "out.parquet"
        path.write_bytes(head + content)
        arguments = [kind, str(path), "--out", str(out), *(["--strict"] if strict else [])]
        result = CliRunner().invoke(app, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        assert result.exit_code in (0, 2)
        assert out.exists() == (result.exit_code == 0)
        if result.exit_code == 2:
            assert len([line for line in result.stderr.splitlines() if line.startswith("scorer: ")]) == 1
        else:
            assert f"{pq.read_metadata(out).num_rows:,} rows" in result.stderr
        assert sorted(Path(name).iterdir()) == sorted({path, *([out] if out.exists() else [])})


def test_paths_that_no_file_can_have(write: Write, convert: Convert) -> None:
    for path in ("x" * 5000, "name=" + "y" * 5000):
        result = convert("webnlg", path)
        assert result.code == 2 and "cannot read" in result.err
    assert "a file name is empty" in convert("webnlg", "").err
    done = CliRunner().invoke(app, ["e2e", write("s.tsv", "MR\toutput\n"), "--out", "z" * 5000 + ".parquet"])
    assert done.exit_code == 2 and "cannot write" in done.stderr
