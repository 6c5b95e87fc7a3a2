"""Where commands find themselves: no home folder, no user, no working directory, names that lead nowhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from tests.bundles import make_bundle
from tests.sweeps import sampled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("surroundings")
    make_bundle(made / "tiny")
    (made / "in").mkdir()
    facts = [[f"X{i} | eatType | pub"] for i in range(20)]
    table = pa.table({"text": [f"X{i} is a pub." for i in range(20)], "triples": facts})
    pq.write_table(table, made / "in" / "a.parquet")
    return made


def called(command: list[str], before: tuple[str, ...]) -> tuple[int, str]:
    """Exit code and stderr of ``scorer``, without HOME and without a cache folder that is named."""
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    ended = subprocess.run(
        [*before, sys.executable, "-m", "scorer", *command],
        capture_output=True, text=True, env=kept, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stderr


@pytest.mark.slow
def test_a_user_without_home_folder_and_passwd_entry(folder: Path, tmp_path: Path) -> None:
    nobody = ("unshare", "--user", "--map-user=12345")
    if shutil.which("unshare") is None or subprocess.run([*nobody, "true"], capture_output=True).returncode:
        pytest.skip("a user namespace, where this process is a user without a name, cannot be made here")
    out = tmp_path / "out"
    command = ["run", str(folder / "in"), "--out", str(out), "--bundle", str(folder / "tiny")]
    for expected in ("1 shard; 20 rows", "1 already done"):  # measured at each start, since nothing can be kept
        code, said = called(command, before=nobody)
        assert code == 0, said
        assert expected in said
    assert (out / "_SUCCESS").exists()
    code, said = called(["run", "~/in", "--out", str(out), "--bundle", str(folder / "tiny")], before=nobody)
    assert code == 2
    assert said.splitlines()[-1].startswith("scorer: the input: '~/in': there is no home folder known")


DELETED = {
    "run {}/in --bundle {}/tiny --out {}/out": 0,
    "run {}/in --bundle {}/tiny --out out": 2,
    "doctor --bundle tiny": 2,
}


@pytest.mark.parametrize("command", sampled(DELETED, 2))
def test_a_working_directory_that_was_deleted(command: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    words = [word.replace("{}", str(folder)) for word in command.split()]
    shell = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    code, said = called(words, before=("sh", "-c", shell, "sh", str(tmp_path / "gone")))
    assert code == DELETED[command], said
    assert "Traceback" not in said and "internal error" not in said
    if code:
        assert said.splitlines()[-1].startswith(("scorer: ", "problem: "))


@pytest.mark.parametrize(
    "command", ["run in --bundle tiny --out ~nosuchuser/x", "check --triples a|b|c --text t --bundle ~nosuchuser/x"]
)
def test_a_home_folder_of_nobody(command: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, command.split())
    assert ended.exit_code == 2, ended.output
    line = ended.stderr.splitlines()[-1]
    assert line.startswith(("scorer: ", "Error: Invalid value for ")) and "no user 'nosuchuser'" in line
    assert not any(tmp_path.iterdir())  # no folder of that name was made


def test_templates_that_are_no_regular_file(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "fifo")
    ended = CliRunner().invoke(app, ["templates", "check", "--data", str(folder / "in"), str(path)])
    assert ended.exit_code == 2
    assert ended.stderr.splitlines()[-1].startswith(f"scorer: template file {path}: not a regular file")
