"""Files that a user names: what stands there decides how they are written, and what a run owns is refused."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from scorer.errors import OutputError
from scorer.storage.output_folder import OutputFolder
from scorer.storage.user_files import check_user_file, parquet_target, write_user_file
from scorer.system.codec import encode
from tests.storage.records import make_plan, make_shard, run


def tree(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*"))


def put(path: Path, content: bytes = b"new") -> None:
    write_user_file(path, content, "--report")


def test_a_new_file_in_a_folder_that_exists(tmp_path: Path) -> None:
    for way in (put, lambda path: check_user_file(path, "--report")):
        with pytest.raises(OutputError, match=r"--report: .*report.html does not exist, nor does a folder"):
            way(tmp_path / "a/b/report.html")
    put(tmp_path / "report.html")
    assert tree(tmp_path) == ["report.html"]


def test_a_link_stays_and_its_file_is_replaced_in_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/report.html").write_bytes(b"old")
    (tmp_path / "hop").symlink_to("real/report.html")
    (tmp_path / "report.html").symlink_to(tmp_path / "hop")
    put(tmp_path / "report.html")
    assert (tmp_path / "real/report.html").read_bytes() == b"new"
    assert parquet_target(tmp_path / "report.html", "--out") == tmp_path / "real/report.html"
    assert tree(tmp_path) == ["hop", "real", "real/report.html", "report.html"]
    assert {path.name for path in tmp_path.iterdir() if path.is_symlink()} == {"hop", "report.html"}


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    for name, target, says in (("link", "nowhere", "not exist"), ("one", "other", "cycle"), ("other", "one", "cycle")):
        (tmp_path / name).symlink_to(target)
        if name != "one":
            with pytest.raises(OutputError, match=says):
                put(tmp_path / name)
    assert tree(tmp_path) == ["link", "one", "other"]


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_device_is_written_into_and_stays(tmp_path: Path, is_linked: bool) -> None:
    """A device as root could replace it; without root the real one, which nobody can replace."""
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.open("wb").close()
    except OSError:
        device = Path("/dev/null")
    (tmp_path / "link").symlink_to(device)
    before = tree(tmp_path)
    put(tmp_path / "link" if is_linked else device)
    assert stat.S_ISCHR(device.stat().st_mode) and tree(tmp_path) == before


def test_a_pipe_that_is_read_gets_the_content_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    put(pipe)
    assert os.read(reader, 99) == b"new"
    os.close(reader)
    with pytest.raises(OutputError, match="nothing reads this named pipe; start its reader"):
        put(pipe)
    check_user_file(pipe, "--report")
    with pytest.raises(OutputError, match=r"--history: .*pipe is a folder, a device or a pipe"):
        check_user_file(pipe, "--history", is_parquet=True)
    assert pipe.is_fifo() and tree(tmp_path) == ["pipe"]


INPUTS = {
    "in": "in/a.csv in/b.JSONL in/deep/c.tsv.gz in/x.xml",
    "in/*.csv": "in/a.csv",
    "in/**/c.*": "in/deep/c.tsv.gz",
    "NAME=in/t.txt": "in/t.txt hard",
    "in/t.txt": "in/t.txt hard",
    "linked": "in/a.csv in/b.JSONL in/deep/c.tsv.gz in/x.xml",
    "bundle": "bundle/bundle.json bundle/notes",
}


@pytest.mark.parametrize(("given", "names"), INPUTS.items())
def test_an_input_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, names: str) -> None:
    """And what no command reads from the folder or pattern is not. A hard link counts where its file is named."""
    monkeypatch.chdir(tmp_path)
    for folder in ("in/deep", "bundle"):
        Path(folder).mkdir(parents=True)
    Path("linked").symlink_to("in")
    everything = {*" ".join(INPUTS.values()).split(), "in/run.log", "in/_own.csv", "a.csv"}
    for name in everything - {"hard"}:
        Path(name).touch()
    Path("hard").hardlink_to(names.split()[0])
    refused = set()
    for name in (*everything, "in/new.csv"):
        try:
            check_user_file(Path(name), "--report", inputs=["s3://bucket/in", "", given])
        except OutputError as error:
            assert "is an input" in str(error)
            refused.add(name)
    assert refused == {*names.split()}


def test_what_the_run_read_is_refused_where_its_output_is_read(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out"
    rows.touch()
    out.mkdir()
    (out / "_plan.json").write_bytes(encode(make_plan([make_shard("rows.parquet", uri=str(rows))])))
    with pytest.raises(OutputError, match=r"is an input \(.*rows.jsonl\)"):
        check_user_file(rows, "--summary", inputs=[out])
    (out / "_plan.json").write_text("[1]")
    check_user_file(rows, "--summary", inputs=[out])


STDOUT = """
import sys
from pathlib import Path
from scorer.storage.user_files import write_user_file
print("before", flush=True)
for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
    write_user_file(Path(name), b"report\\n", "--report")
print("behind")
"""


def test_standard_output_by_its_path(tmp_path: Path) -> None:
    # A file that a shell redirected to is not replaced: what was printed before and comes behind would be lost.
    with (tmp_path / "file").open("wb") as file:
        subprocess.run([sys.executable, "-c", STDOUT], stdout=file, check=True)
    assert (tmp_path / "file").read_bytes() == b"before\nreport\nreport\nreport\nbehind\n"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An output folder with a finished shard."""
    run(tmp_path / "out", [make_shard("a.parquet"), make_shard("deep/b.parquet")], bad=["deep/b.parquet"])
    return tmp_path / "out"


OWNED = "_run.json _plan.json _SUCCESS _lock _receipts/_x.json _failed/a.json a.parquet deep/b.parquet"


@pytest.mark.parametrize("name", OWNED.split())
def test_what_a_run_owns_is_refused(out: Path, tmp_path: Path, name: str) -> None:
    """Also what it will own: any visible name may be that of an output after the next run."""
    before = {path: path.is_file() and path.read_bytes() for path in out.rglob("*")}
    (tmp_path / "linked").symlink_to(out)
    (tmp_path / "link").symlink_to(out / name)
    for path in (out / name, tmp_path / "linked" / name, out / "deep/.." / name, tmp_path / "link"):
        with pytest.raises(OutputError, match=r"is in the output folder .*/out of .* reserved .*/_report.html"):
            put(path)
    assert before == {path: path.is_file() and path.read_bytes() for path in out.rglob("*")}
    put(out / "_report.html")
    assert (out / "_report.html").read_bytes() == b"new" and list(OutputFolder(out).receipts()) == ["a.parquet"]
