"""Inputs, options and outputs that change between runs, and inputs that change during one."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import scorer.run.preview
from scorer.run.survey import Survey
from tests.bundles import make_bundle
from tests.faults import harness
from tests.faults.harness import assert_nothing_half, assert_same, bytes_of, crash, run, summary

Reference = tuple[Path, Path]


def replace(path: Path) -> None:
    pq.write_table(harness.rows(60, 70_000), path)


def grow(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content + content[-100:])


def shrink(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-50])


CHANGES: dict[str, Callable[[Path], None]] = {
    "01.parquet": replace,
    "02.parquet": grow,
    "04.parquet": shrink,
    "05.parquet": Path.unlink,
}


def test_inputs_that_change_after_they_were_first_looked_at(
    reference: Reference, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = Path(shutil.copytree(reference[0], tmp_path / "in")), tmp_path / "out"
    run(data, out, bundle)
    shutil.rmtree(out / "_receipts")  # so that all is scored again
    before = bytes_of(out)
    real = scorer.run.preview.survey

    def surveyed(*args: Any) -> Survey:
        found = real(*args)
        for name, change in CHANGES.items():
            change(data / name)
        return found

    monkeypatch.setattr(scorer.run.preview, "survey", surveyed)
    said = run(data, out, bundle, code=3)
    monkeypatch.undo()
    assert_nothing_half(out)
    assert summary(out)["shards"] == {"done": 4, "skipped": 0, "failed": 4}
    assert not (out / "_SUCCESS").exists()
    for name in CHANGES:
        assert f"quarantined {name}" in said
        assert not (out / "_receipts" / f"{name}.json").exists()
    assert bytes_of(out) == before, "an earlier output stays when its shard is quarantined"
    # The next run takes what is there now: two good files, two broken ones, one of them gone.
    (data / "02.parquet").unlink()
    replace(data / "04.parquet")
    run(data, tmp_path / "whole", bundle)
    run(data, out, bundle, "--prune")
    assert_same(out, tmp_path / "whole")


@pytest.fixture(scope="module")
def other_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("other") / "tiny"
    return make_bundle(made, labels=("entailment", "neutral", "contradiction"), precisions=("fp32", "int8"))


@pytest.mark.parametrize("change", ["protocol", "templates", "bundle", "precision", "overlong"])
def test_options_changed_before_a_resume(
    reference: Reference, tmp_path: Path, bundle: Path, other_bundle: Path, change: str
) -> None:
    """A run is cut off in the middle, and resumed as another one: nothing of the first is left."""
    data, out = reference[0], Path(shutil.copytree(reference[1], tmp_path / "out"))
    for name in ("04.parquet", "05.parquet", "07.parquet"):
        (out / "_receipts" / f"{name}.json").unlink()
    (out / "_SUCCESS").unlink()
    (tmp_path / "t.json").write_text('{"eatType": "<subject> is a <object>."}')
    used, more = {
        "protocol": (bundle, ["--protocol", "nlgi_eval"]),
        "templates": (bundle, ["--templates", tmp_path / "t.json"]),
        "bundle": (other_bundle, ["--precision", "fp32"]),
        "precision": (other_bundle, ["--precision", "int8"]),
        "overlong": (bundle, ["--overlong", "truncate"]),
    }[change]
    before = harness.content(out)
    assert "pass --rescore to replace them" in run(data, out, used, *more, code=2)
    assert harness.content(out) == before
    run(data, out, used, *more, "--rescore")
    assert summary(out)["shards"]["skipped"] == 0
    run(data, tmp_path / "whole", used, *more)
    assert_same(out, tmp_path / "whole")
    signatures = {pq.read_schema(p).metadata[b"d2t_scorer.signature"] for p in harness.outputs(out).values()}
    assert signatures == {summary(out)["signature"].encode()}


def test_a_template_file_that_is_edited_in_place(reference: Reference, tmp_path: Path, bundle: Path) -> None:
    data, out, templates = reference[0], tmp_path / "out", tmp_path / "t.json"
    templates.write_text('{"eatType": "<subject> is a <object>."}')
    crash(data, out, bundle, "receipt.published", "--templates", templates)
    assert 0 < len(list((out / "_receipts").rglob("*.json"))) < 8  # others may be published at the same time
    templates.write_text('{"eatType": "<subject> was a <object>."}')
    run(data, out, bundle, "--templates", templates, "--rescore")
    run(data, tmp_path / "whole", bundle, "--templates", templates)
    assert_same(out, tmp_path / "whole")


def damage(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    way = rng.choice(["flip", "cut", "empty", "delete", "grow", "link"])
    if way == "flip":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif way == "cut":
        del content[rng.randrange(len(content)) :]
    elif way == "empty":
        content.clear()
    elif way == "grow":
        content += b"\0"
    path.unlink()
    if way == "link":
        elsewhere = path.parents[0] / f"_{path.name}.kept"
        elsewhere.write_bytes(content)
        path.symlink_to(elsewhere)
    elif way != "delete":
        path.write_bytes(content)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_outputs_and_receipts_damaged_after_commit(
    reference: Reference, tmp_path: Path, bundle: Path, seed: int
) -> None:
    rng = random.Random(seed)
    data, whole = reference
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    names = sorted(bytes_of(whole))
    hit = set(rng.sample(names, 4))
    for name in hit:
        damage(rng.choice([out / name, out / "_receipts" / f"{name}.json"]), rng)
    swapped = sorted(set(names) - hit)[:2]
    one, other = ((out / name).read_bytes() for name in swapped)
    (out / swapped[0]).write_bytes(other)
    (out / swapped[1]).write_bytes(one)
    links = [path for path in out.rglob("*") if path.is_symlink()]
    if links:  # nothing is written through one; its target belongs to no run
        said = run(data, out, bundle, code=2)
        assert any(f"{link} is a symbolic link" in said for link in links)
    for link in links:
        link.resolve().unlink()
        link.unlink()
    run(data, out, bundle)
    assert_same(out, whole)
    assert summary(out)["shards"]["skipped"] in range(len(names) - 6, len(names) - 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"schema": 1}',
        b"[" * 100_000,
        *(pytest.param(content, marks=pytest.mark.slow) for content in (b"{", b"[]", b"{}", b"\xff" * 100)),
    ],
)
def test_a_damaged_plan_is_written_again(reference: Reference, tmp_path: Path, bundle: Path, content: bytes) -> None:
    out = Path(shutil.copytree(reference[1], tmp_path / "out"))
    (out / "_plan.json").write_bytes(content)
    run(reference[0], out, bundle)
    assert_same(out, reference[1])
    assert summary(out)["shards"]["skipped"] == 8


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.slow)])
def test_broken_files_among_good_ones(
    bad_data: Path, reference: Reference, tmp_path: Path, bundle: Path, step: int
) -> None:
    data, out = Path(shutil.copytree(reference[0], tmp_path / "in")), tmp_path / "out"
    bad = sorted(path for path in (bad_data / "parquet").rglob("*") if path.is_file())[::step]
    (data / "bad").mkdir()
    for i, path in enumerate(bad):
        shutil.copy(path, data / "bad" / f"{i:03d}.parquet")
    said = run(data, out, bundle, code=3)
    assert said.count("quarantined bad/") == len(bad)
    assert_nothing_half(out)
    assert bytes_of(out) == bytes_of(reference[1])
    assert summary(out)["shards"] == {"done": 8, "skipped": 0, "failed": len(bad)}
    assert summary(out)["rows"] == summary(reference[1])["rows"]
    assert not (out / "_SUCCESS").exists()
    shutil.rmtree(data / "bad")
    run(data, out, bundle)
    assert_same(out, reference[1])
    assert not (out / "_failed").exists()


@pytest.mark.slow
def test_cut_and_flipped_files(tmp_path: Path, bundle: Path) -> None:
    """Good file and damaged ones together: every row of what is readable is there, everything else is quarantined."""
    rng = random.Random(9)
    data, out = tmp_path / "in", tmp_path / "out"
    data.mkdir()
    path = data / "good.parquet"
    pq.write_table(harness.rows(40), path, write_page_checksum=True, compression="none")
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for i in range(100):
        position = rng.randrange(len(content))
        bad = bytearray(content)
        bad[position] ^= 1 << rng.randrange(8)
        (data / f"flip{i:04d}.parquet").write_bytes(bad)
        body = position < footer
        (data / f"{'body' if body else 'tail'}{i:04d}.parquet").write_bytes(bad)
    for length in range(0, len(content), 43):
        (data / f"cut{length:06d}.parquet").write_bytes(content[:length])
    run(data, out, bundle, code=3)
    assert_nothing_half(out)
    harness.assert_equation(out)
    done, failed = set(bytes_of(out)), {p.name.removesuffix(".json") for p in (out / "_failed").iterdir()}
    assert done | failed == {path.name for path in data.iterdir()} and not done & failed
    good = pq.read_table(out / "good.parquet")
    for name in done:
        found = pq.read_table(out / name)
        assert not name.startswith("cut")
        if name.startswith("body"):  # page headers have no checksum, what they hold has
            assert found.equals(good), name


@pytest.mark.parametrize("link", ["01.parquet", "deep", "_receipts", "_receipts/deep", "_plan.json"])
def test_a_link_below_the_output_is_exit_2(reference: Reference, tmp_path: Path, bundle: Path, link: str) -> None:
    """What it leads to stays as it is, whether it is another run's output or anything else."""
    data, whole = reference
    elsewhere = Path(shutil.copytree(whole, tmp_path / "elsewhere"))
    out = Path(shutil.copytree(whole, tmp_path / "out"))
    (out / "_SUCCESS").unlink()
    shutil.rmtree(out / link) if (out / link).is_dir() else (out / link).unlink()
    (out / link).symlink_to(elsewhere / link)
    before = harness.content(elsewhere)
    said = run(data, out, bundle, "--protocol", "nlgi_eval", code=2)
    assert f"out/{link} is a symbolic link, and a run writes nothing through links" in said
    assert harness.content(elsewhere) == before and (out / link).is_symlink()
    assert not [path for path in out.rglob(".*") if path.is_file()]
