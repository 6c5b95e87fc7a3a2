"""What the fault tests share: runs as processes of their own, and the oracle that each fault is judged by.

The oracle: outputs and totals equal an uninterrupted run's, the row equation of ``_run.json`` holds, and whatever is
readable as finished is whole.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from scorer.commands import app
from scorer.storage.output_folder import OutputFolder
from scorer.storage.receipts import Receipt
from scorer.system.files import file_sha256

STRUCT = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])
SCHEMA = pa.schema([("text", pa.string()), ("weight", pa.int64()), ("triples", pa.list_(STRUCT))])
NONE: Mapping[Any, Any] = {}
LIMIT_S = 300.0
"""How long a run of a few rows may take; it only ends a test that fails."""
CRASHED = 97
"""The exit code of a run that ended itself at a step of the protocol; see :meth:`Trial.crash`."""


def rows(n: int, start: int = 0) -> pa.Table:
    """Rows with labels, error rows and noted rows among them."""
    numbers = range(start, start + n)
    triples = [
        [{"subject": f"N{i % 5}", "predicate": "eatType", "object": f"pub {i % 7}"}] * (1 + i % 2) for i in numbers
    ]
    texts = [None if i % 20 == 7 else "" if i % 20 == 8 else f"N{i % 5} is pub {i % 4}, number {i}." for i in numbers]
    return pa.table([texts, list(numbers), triples], schema=SCHEMA)


def make_data(folder: Path, shards: int = 8, n: int = 60) -> Path:
    """A folder of shards, some of them in folders of their own."""
    for i in range(shards):
        path = folder / (f"{i:02d}.parquet" if i % 3 else f"deep/{i:02d}.parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(n, 1000 * i), path, row_group_size=16)
    return folder


@dataclass
class Trial:
    """A run in a folder of its own, to which something happens, and outputs (``whole``) to which nothing did."""

    data: Path
    whole: Path
    bundle: Path
    base: Path

    def __post_init__(self) -> None:
        self.out = self.base / "out"

    def own_data(self) -> Path:
        """From here on the inputs are a copy, to be changed."""
        self.data = Path(shutil.copytree(self.data, self.base / "in"))
        return self.data

    def finished(self) -> Path:
        """Have the run be finished already."""
        return Path(shutil.copytree(self.whole, self.out))

    def command(self, *more: Any) -> list[str]:
        return command(self.data, self.out, self.bundle, *more)

    def launch(self, *more: Any, **options: Any) -> subprocess.Popen[str]:
        return launch(self.data, self.out, self.bundle, *more, **options)

    def crash(self, point: str, *more: Any) -> None:
        """Run up to a step of the protocol, which the exit code proves was reached."""
        finish(self.launch(*more, env={"D2T_SCORER_CRASH_AT": point}), CRASHED)
        if isinstance(self.out, Path):
            assert_nothing_half(self.out)

    def run_process(self, *more: Any, code: int = 0, **environment: str) -> str:
        """Run in a process of its own, with workers; its standard error."""
        return finish(self.launch(*more, env=environment), code)

    def run(self, *more: Any, code: int = 0) -> str:
        return run(self.data, self.out, self.bundle, *more, code=code)

    def check(self) -> None:
        assert_same(self.out, self.whole)

    def resume(self, *more: Any) -> None:
        """The same command comes to what an undisturbed run does."""
        self.run(*more)
        self.check()

    def undisturbed(self, *more: Any) -> None:
        """From here on the run is judged by one over its inputs as they are now."""
        self.whole = self.base / "whole"
        run(self.data, self.whole, self.bundle, *more)

    @property
    def skipped(self) -> int:
        return int(summary(self.out)["shards"]["skipped"])

    @property
    def receipts(self) -> list[Path]:
        return sorted(self.out.glob("_receipts/**/*.json"))

    @property
    def succeeded(self) -> bool:
        return (self.out / "_SUCCESS").exists()


def command(data: Path | str, out: Path, bundle: Path, *more: Any) -> list[str]:
    found = ["run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", *more]
    return [sys.executable, "-m", "scorer", *map(str, found)]


def launch(
    data: Path, out: Path, bundle: Path, *more: Any, env: Mapping[str, str] = NONE, limits: Mapping[int, int] = NONE
) -> subprocess.Popen[str]:
    """Start a run as a process of its own. ``limits``: of its resources, by their kind."""

    def limit() -> None:
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, most))

    return subprocess.Popen(
        command(data, out, bundle, *more),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **env},
        preexec_fn=limit if limits else None,
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    """Wait for a run; its standard error."""
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == code, f"exit code {process.returncode}: {said}"
    assert "Traceback" not in said
    return said


def execute(command: list[str], code: int = 0, **options: Any) -> str:
    """Run a command to its end; its standard error."""
    return finish(
        subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, **options), code
    )


def scorer(*arguments: Any, code: int = 0) -> Any:
    """A command in this process, which takes a fraction of the time."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(data: Path | str, out: Path, bundle: Path, *more: Any, code: int = 0) -> str:
    """A run in this process; its standard error."""
    return scorer(*command(data, out, bundle, *more)[3:], code=code).stderr


def outputs(out: Path) -> dict[str, Path]:
    """The output files by relative path; nothing of the program's own."""
    found = {path.relative_to(out).as_posix(): path for path in sorted(out.rglob("*.parquet")) if path.is_file()}
    return {name: path for name, path in found.items() if not name.startswith("_")}


def bytes_of(out: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in outputs(out).items()}


def summary(out: Path) -> dict[str, Any]:
    return json.loads((out / "_run.json").read_text())


def assert_equation(out: Path) -> None:
    """The row equation, and totals that are those of the files."""
    counted = summary(out)["rows"]
    assert counted["in"] == counted["scored"] + counted["reused"] + sum(counted["errors"].values())
    tables = [pq.read_table(path, columns=["error", "fine"]) for path in outputs(out).values()]
    assert counted["in"] == sum(len(table) for table in tables)
    assert sum(counted["errors"].values()) == sum(len(table) - table["error"].null_count for table in tables)
    labelled = sum(len(table) - table["fine"].null_count for table in tables)
    assert counted["scored"] + counted["reused"] == labelled


def assert_nothing_half(out: Path) -> None:
    """At any moment: what has its name is whole, what has a receipt is what the receipt says."""
    if not out.exists():
        return
    for path in outputs(out).values():
        pq.read_table(path)
    receipts = OutputFolder(out).receipts()
    for relative, receipt in receipts.items():
        assert isinstance(receipt, Receipt), f"half a receipt: {relative}"
        assert file_sha256(out / relative) == receipt.output.sha256
    if (out / "_SUCCESS").exists():
        plan = json.loads((out / "_plan.json").read_text())
        assert set(plan["inputs"]) == set(receipts)
        assert_equation(out)


def assert_same(out: Path, whole: Path) -> None:
    """The oracle, for a run that came to its end."""
    assert_nothing_half(out)
    assert_equation(out)
    assert (out / "_SUCCESS").exists()
    assert bytes_of(out) == bytes_of(whole)
    for key in ("rows", "labels", "facts", "checks", "tokens", "signature"):
        assert summary(out)[key] == summary(whole)[key], key
    assert not list(out.rglob(".*"))
