"""Broken, hostile and arbitrary files: every message names file and line, no row is lost, nothing half-written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from scorer.commands import app
from tests.convert.conftest import Convert, Write

GOOD = "name[Fox], food[Thai]"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"\tno input", "not a meaning representation like"),
        (b"name[A], name[B], food[C]\tx", "exactly one name"),
        (b"name[Fox], food[Thai]\ta\tb", "3 columns instead of 2"),
        (b"name[Fox], food[Thai]\tcaf\xe9", "not UTF-8 (byte 0xe9 at byte 26 of the line)"),
        (b"name[Fox], food[Th\0ai]\tx", "a NUL byte"),
    ],
)
def test_malformed_lines_are_named_and_kept(line: bytes, what: str, write: Write, convert: Convert) -> None:
    path = write("s.tsv", b"MR\toutput\n" + GOOD.encode() + b"\tone\n" + line + b"\n" + GOOD.encode() + b"\ttwo\n")
    result = convert("e2e", path)
    assert result.code == 0
    assert f"{path}:3: " in result.err and what in result.err and "1 malformed line" in result.err
    assert [row["line"] for row in result.rows] == [2, 3, 4]
    assert [row["text"] for row in result.rows if row["line"] != 3] == ["one", "two"]
    assert result.rows[1]["triples"] is None or result.rows[1]["text"] is None
    Path(path).with_name("converted.parquet").unlink()
    strict = convert("e2e", path, "--strict")
    assert strict.code == 2 and f"{path}:3: " in strict.err and what in strict.err
    assert "Traceback" not in strict.err and strict.rows == []


def test_an_unclosed_quote_costs_one_row_and_no_quadratic_time(write: Write, convert: Convert) -> None:
    lines = ["mr,ref", f'"{GOOD}",one', f'"{GOOD},two', f'"{GOOD}",three', f'"{GOOD}","fo"ur"', f'"{GOOD}","five']
    path = write("s.csv", "\n".join(lines))
    result = convert("e2e", path)
    assert [row["text"] for row in result.rows] == ["one", None, "three", None, None]
    assert [row["line"] for row in result.rows] == [2, 3, 4, 5, 6]
    for number in (3, 5, 6):
        assert f"{path}:{number}: a quote" in result.err
    assert "3 malformed" in result.err
    many = convert("e2e", write("many.csv", "mr,ref\nname[A],b\n" + '"open\nplain\n' * 10_000), "--force")
    assert len(many.rows) == 20_001 and "20,000 malformed" in many.err


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"\xff\xfeM\x00R\x00", "UTF-16"),
        (b"a,b\n1,2\n", "neither a header with a column mr nor a meaning representation"),
        (b"MR\n" + GOOD.encode() + b"\n", "no column of texts (its columns: MR)"),
        (b"MR\toutput\n", "not one of 0 lines"),
    ],
)
def test_files_that_cannot_be_used(content: bytes, what: str, write: Write, convert: Convert) -> None:
    result = convert("e2e", write("s.tsv", content))
    assert result.code == 2 and what in result.err and len(result.err.strip().splitlines()) == 1
    assert result.rows == []


def test_outputs_are_not_overwritten(write: Write, convert: Convert) -> None:
    path = write("s.tsv", f"MR\toutput\n{GOOD}\tx\n")
    kept = Path(write("converted.parquet", "mine"))
    bad = write("bad.tsv", "MR\toutput\nx\ty\n")
    for words, what in (
        ([path, "--out", str(kept)], "--force"),
        ([f"a={kept}", "--out", str(kept), "--force"], "never overwritten"),
        ([bad, "--out", str(kept), "--force", "--strict"], "bad.tsv:2: "),
        ([path, "--out", str(kept.parent)], "name a regular file"),
    ):
        result = CliRunner().invoke(app, ["convert", "e2e", *words])
        assert result.exit_code == 2 and what in result.stderr and kept.read_text() == "mine"
    assert convert("e2e", path, "--force").rows[0]["text"] == "x"
    assert not list(kept.parent.glob(".*"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            '<!DOCTYPE b [\n<!ENTITY a "ha"><!ENTITY b "&a;&a;">\n]><b>&b;</b>',
            ":2: the document declares the entity 'a'",
        ),
        ('<!DOCTYPE b SYSTEM "x.dtd"><b>&gone;</b>', "external part ('x.dtd')"),
        ("<benchmark>\n<entries>\n<entry>", ":3: not well-formed XML"),
        ("<?xml version='1.0' encoding='martian'?><benchmark/>", "unknown encoding"),
        ("<html><p>404</p></html>", "no <entry> elements"),
        ("<a>" * 5000, "not well-formed XML"),
    ],
)
def test_xml_that_is_refused(content: str, what: str, write: Write, convert: Convert) -> None:
    path = write("t.xml", content)
    result = convert("webnlg", path)
    assert result.code == 2 and what in result.err and path in result.err and result.rows == []
    assert len(result.err.strip().splitlines()) == 1


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
        arguments = ["convert", kind, str(path), "--out", str(out), *(["--strict"] if strict else [])]
        result = CliRunner().invoke(app, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        assert result.exit_code in (0, 2)
        assert out.exists() == (result.exit_code == 0)
        if result.exit_code == 2:
            assert len([line for line in result.stderr.splitlines() if line.startswith("scorer: ")]) == 1
        else:
            assert f"{pq.read_metadata(out).num_rows:,} row" in result.stderr
        assert sorted(Path(name).iterdir()) == sorted({path, *([out] if out.exists() else [])})
