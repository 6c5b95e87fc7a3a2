"""Finished outputs read as one: files, parts, rows by number, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import InputError, OutputError, UsageError
from scorer.metric.verdict import FINE
from scorer.storage.finished_output import FinishedOutput
from scorer.storage.location import StoreUri
from scorer.storage.output_files import _check_footer, data_files, partition_keys
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import FAILED, FailedShard, Receipt, receipt_name
from scorer.storage.run_plan import Part, belongs_to_part, find_outputs
from scorer.system.codec import encode
from tests.audit.nights import row
from tests.audit.nights import table as made_table
from tests.evaluation.scored import SIGNATURE, save, scored
from tests.run.calls import run, scorer
from tests.scored_outputs import SIGNATURE as OF_RUNS
from tests.scored_outputs import finish
from tests.storage.backends import memory as memory
from tests.storage.backends import put

SHARDS = {f"{name}.parquet": i + 1 for i, name in enumerate(["a", "b", "deep/c", "deep/d", "e", "f"])}
"""Rows by shard."""


def shard(name: str, rows: int) -> pa.Table:
    return made_table([row(f"{name} {i}", [("food", 0.2 if i else 0.9)], id=f"{name}:{i}") for i in range(rows)])


def part(out: Path, number: int, count: int = 3, digest: str = "all", **more: Any) -> Path:
    """The output of ``--part number/count`` over :data:`SHARDS`."""
    mine = {name: shard(name, rows) for name, rows in SHARDS.items() if belongs_to_part(name, number, count)}
    return finish(out, mine, part=Part(number=number, count=count, shards=digest), **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = {name: shard(name, rows) for name, rows in SHARDS.items()}
    return finish(tmp_path_factory.mktemp("whole") / "out", tables)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three parts."""
    folder = tmp_path_factory.mktemp("parts")
    for number in (1, 2, 3):
        part(folder / f"part-{number}", number)
    return folder


def test_parts_are_read_as_the_output_that_is_not_divided(whole: Path, parts: Path) -> None:
    one = FinishedOutput.open(whole)
    for given in ([parts], [parts / f"part-{number}" for number in (2, 3, 1)]):
        found = FinishedOutput.open(*given)
        assert len(found.outs) == 3 and found.coverage.is_complete and found.coverage.reason is None
        assert [file.relative for file in found.files] == [file.relative for file in one.files] == sorted(SHARDS)
        assert found.table().equals(one.table())
        assert len(found) == len(one) == sum(SHARDS.values())
        assert [found.locate(row) for row in range(len(one))] == [one.locate(row) for row in range(len(one))]


def test_parts_in_a_store_are_read_there(parts: Path, memory: Any) -> None:
    folder = StoreUri("s3", "bucket", "runs/of today")
    for path in (path for path in parts.rglob("*") if path.is_file()):
        put(folder, path.relative_to(parts).as_posix(), path.read_bytes())
    assert find_outputs([folder]) == [folder.below(f"part-{number}") for number in (1, 2, 3)]
    assert FinishedOutput.open(folder).table().equals(FinishedOutput.open(parts).table())
    found = json.loads(scorer("audit", folder, "--json").stdout)
    assert (found["out"], found["rows"]["in"]) == (str(folder), sum(SHARDS.values()))
    assert json.loads(scorer("status", folder, "--json").stdout)["finished"]


def test_parts_that_are_missing_there_twice_or_of_another_run_are_refused(
    whole: Path, parts: Path, tmp_path: Path
) -> None:
    one, two, three = sorted(parts.iterdir())
    again = Path(shutil.copytree(two, tmp_path / "again"))
    int8 = part(tmp_path / "int8", 3, signature=OF_RUNS.replace("fp32", "int8"))
    other, four = part(tmp_path / "other", 3, digest="others"), part(tmp_path / "four", 2, 4)
    for given, says in (
        ([one, two], r"1 of 3 parts are missing \(part 3\); name all of them, or the folder above them"),
        ([three], r"2 of 3 parts are missing \(part 1, 2\)"),
        ([one, two, three, again], "part 2 of 3 is there twice: .*part-2 and .*again"),
        ([one, two, int8], r"are not parts of one run \(prec: fp32 → int8\)"),
        ([one, two, other], r"are not parts of one run \(other inputs\)"),
        ([one, four], "number of parts: 3 → 4"),
        ([one, whole], r"are not parts of one run \(--part\)"),
        ([whole, one], r"are not parts of one run \(--part\)"),
    ):
        with pytest.raises(OutputError, match=says):
            FinishedOutput.open(*given)


def test_what_is_missing_is_said_where_it_is_allowed(parts: Path, tmp_path: Path) -> None:
    found = FinishedOutput.open(parts / "part-3", parts / "part-1", allow_partial=True)
    assert found.coverage.missing_parts == (2,)
    assert found.coverage.reason == "1 of 3 parts are missing: 2"
    assert {file.relative for file in found.files} == {n for n in SHARDS if not belongs_to_part(n, 2, 3)}
    open_part = Path(shutil.copytree(parts / "part-1", tmp_path / "open"))
    (open_part / "_SUCCESS").unlink()
    for arguments in (("audit", open_part), ("evaluate", parts / "part-1"), ("sample", open_part, "--file", "x.csv")):
        assert "--allow-partial" in scorer(*arguments, code=2).stderr
    twice = [parts / "part-1", parts / "part-2", parts / "part-1"]
    assert len(FinishedOutput.open(*twice, allow_partial=True).outs) == 2  # the same folder is one output


def test_a_quarantined_shard_is_named_with_its_reason(whole: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    first, second, *_ = FinishedOutput.open(whole).files
    (out / "_SUCCESS").unlink()
    for shard, message in ((first, "it ends after 11 bytes"), (second, "")):
        (out / receipt_name(shard.relative)).unlink()
        record = out / receipt_name(shard.relative, FAILED)
        record.parent.mkdir(parents=True, exist_ok=True)
        failed = FailedShard(relative=shard.relative, kind="unreadable", message=message)
        record.write_bytes(encode(failed) if message else b"{")
        failures = 1 if message else 2
        said = f"is not finished: {failures} of {len(SHARDS)} shards failed: {first.relative}: it ends after 11 bytes"
        with pytest.raises(OutputError) as caught:
            FinishedOutput.open(out)
        assert said in str(caught.value) and "fix the input and run `scorer run` again" in str(caught.value)
        assert "resumes" not in str(caught.value)


def test_rows_by_number_are_those_of_the_windows(whole: Path) -> None:
    found = FinishedOutput.open(whole)
    table = found.table(["id", "fine"])
    wanted = [20, 0, 7, 7, 1]
    rows = found.rows(wanted, ["fine", "id", "absent"])
    assert list(rows) == sorted({*wanted})
    for number, one in rows.items():
        assert one.to_pylist() == table.slice(number, 1).select(one.schema.names).to_pylist()
        name, place = found.locate(number)
        assert one["id"].to_pylist() == [f"{name}:{place}"] and found.find(name, place) == number
    wrong = (("a.parquet", 1), ("a.parquet", -1), ("deep", 0), ("nothing", 0))
    assert [found.find(*place) for place in wrong] == [None] * 4


ANOTHER_SHA, AGAIN = "its SHA-256 is not its receipt's", "run `scorer run` again to replace it"


def silent_flips(path: Path) -> Iterator[bytes]:
    """The file with one bit of the column ``fine`` flipped, where Parquet's reader gives other labels of the metric,
    unless it checks pages."""
    content = path.read_bytes()
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        labels, group = file.read(["fine"])["fine"].to_pylist(), file.metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    chunk = next(one for one in chunks if one.path_in_schema == "fine")
    start = chunk.dictionary_page_offset
    for place, bit in product(range(start, start + chunk.total_compressed_size), range(8)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        source = pa.BufferReader(bytes(damaged))
        with suppress(OSError, ValueError, pa.ArrowException), pq.ParquetFile(source) as file:
            read = file.read(["fine"], use_threads=False)["fine"].to_pylist()
            if read != labels and len(read) == len(labels) and {*read} <= {*FINE, None}:
                with pytest.raises(OSError, match="CRC"), pq.ParquetFile(source, page_checksum_verification=True) as f:
                    f.read(["fine"], use_threads=False)
                yield bytes(damaged)


def test_a_flipped_bit_is_not_read_as_another_label(tmp_path: Path, tiny: Path) -> None:
    texts, mr = ["The Mill is a pub.", "It serves food number 7."] * 20, ["name[The Mill], eatType[pub]"] * 40
    pq.write_table(pa.table({"text": texts, "mr": mr, "gold_rough": ["OK"] * 40}), tmp_path / "a.parquet")
    out = tmp_path / "out"
    run(tmp_path / "a.parquet", out, tiny)
    more = {
        "audit": [],
        "evaluate": ["--resamples", 0],
        "show": [],
        "sample": ["--file", tmp_path / "s.csv"],
        "explain": ["--row", 0],
    }
    damaged = list(islice(silent_flips(out / "a.parquet"), 2))
    assert len(damaged) == 2
    alone = tmp_path / "alone.parquet"  # without a receipt, the checksums of pages are all that there is
    for content, name in product(damaged, more):
        alone.write_bytes(content)
        with pytest.raises(InputError, match=r"alone\.parquet cannot be read as Parquet: .*CRC"):
            FinishedOutput.open(alone).table(["fine"])
        (out / "a.parquet").write_bytes(content)
        said = scorer(name, out, *more[name], code=2).stderr
        assert said.endswith(f"scorer: {out / 'a.parquet'} changed after its run: {ANOTHER_SHA}; {AGAIN}\n")


def test_any_flipped_bit_of_an_output_is_seen(tmp_path: Path, tiny: Path) -> None:
    pq.write_table(
        pa.table({"text": ["The Mill is a pub."], "mr": ["name[The Mill], eatType[pub]"]}), tmp_path / "a.parquet"
    )
    run(tmp_path / "a.parquet", tmp_path / "out", tiny)
    path = tmp_path / "out" / "a.parquet"
    content = path.read_bytes()
    for place in range(0, len(content), 7):  # pages, their headers, which no checksum covers, and the footer
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises((InputError, OutputError)):
            FinishedOutput.open(tmp_path / "out").table(["fine"])
    path.write_bytes(content)
    assert FinishedOutput.open(tmp_path / "out").table(["fine"]).num_rows == 1


def test_partition_keys_are_in_the_path() -> None:
    assert partition_keys("country=DE/lang=de.parquet/part-00003.parquet") == {"country": "DE"}
    assert partition_keys("a%20b=c%2Fd/x=__HIVE_DEFAULT_PARTITION__/e=/f.parquet") == {"a b": "c/d", "x": None, "e": ""}


def test_hidden_names_are_no_scored_files(tmp_path: Path) -> None:
    table = scored(["OK"])
    for name in ("b.parquet", "a/c.parquet", "_failed/x.parquet", ".tmp/x.parquet", "a/_x.parquet", "a/.x.parquet"):
        save(table, tmp_path / name)
    (tmp_path / "_run.json").touch()
    assert [file.relative_to(tmp_path).as_posix() for file in data_files(tmp_path)] == ["a/c.parquet", "b.parquet"]
    assert FinishedOutput.open(tmp_path / "_failed" / "x.parquet").table().num_rows == 1
    assert len(FinishedOutput.open(tmp_path)) == 2


def test_where_there_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        FinishedOutput.open(tmp_path / "none")
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(InputError, match="no scored file"):
        FinishedOutput.open(tmp_path)
    (tmp_path / "_plan.json").write_text("null")
    with pytest.raises(OutputError, match=r"_plan\.json is damaged"):
        FinishedOutput.open(tmp_path)


def test_files_must_have_one_signature(tmp_path: Path) -> None:
    save(scored(["OK"]), tmp_path / "a.parquet")
    save(scored(["OK"]), tmp_path / "c.parquet", None)
    with pytest.raises(UsageError, match=r"a\.parquet and c\.parquet.*signature: .* → none"):
        FinishedOutput.open(tmp_path)
    save(scored(["OK"]), tmp_path / "c.parquet", SIGNATURE.replace("fp32", "int8"))
    with pytest.raises(UsageError, match=r"were scored differently \(prec: fp32 → int8\); .*evaluate them apart"):
        FinishedOutput.open(tmp_path)


def test_a_footer_that_is_not_what_the_receipt_says_is_refused_when_it_is_read(whole: Path, tmp_path: Path) -> None:
    """Of the same size, so that the folder does not show it."""
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    int8 = finish(tmp_path / "int8", {"e.parquet": shard("e.parquet", 5)}, signature=OF_RUNS.replace("fp32", "int8"))
    shutil.copy(int8 / "e.parquet", out / "e.parquet")
    found = FinishedOutput.open(out)
    assert list(found.rows([0])) == [0]
    for read in (found.table, lambda: found.schema):
        with pytest.raises(OutputError, match=r"e\.parquet was scored differently .*\(prec: fp32 → int8\); run"):
            read()
    receipts = OutputFolder(out).receipts()
    with (
        pytest.raises(OutputError, match="has 4 rows, its receipt says 6; run"),
        pq.ParquetFile(out / "deep" / "d.parquet") as file,
    ):
        _check_footer(str(out), file, cast(Receipt, receipts["f.parquet"]))
