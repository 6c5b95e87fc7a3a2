"""The examples run, and the README's blocks run in their order in a clean clone."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.scoring.settings import Settings
from tests.audit.nightly_script import example, program
from tests.bundles import make_bundle
from tests.conftest import ROOT
from tests.docs.test_examples import blocks
from tests.faults import harness

DATASETS = ROOT / ".venv-datasets" / "bin" / "python"
DOCS = ROOT / ".venv-docs" / "bin" / "python"
RAY = ROOT / ".venv-ray" / "bin" / "python"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def needs(condition: bool, name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not condition, reason=f"{name} is not installed; `make test-slow` installs it")


def run(*command: object, folder: Path = ROOT, environment: dict[str, str] = ENVIRONMENT, given: str = "") -> str:
    """Standard output of a command that succeeds."""
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, input=given, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


@needs(importlib.util.find_spec("pandas") is not None, "pandas")
def test_a_data_frame() -> None:
    printed = run(sys.executable, "examples/dataframe.py")
    assert [line.split()[-2] for line in printed.splitlines()[1:]] == ["omission", "hallucination"]


@pytest.mark.slow
@needs(DATASETS.exists(), "datasets")
def test_a_hugging_face_dataset() -> None:
    assert run(DATASETS, "examples/datasets_map.py").strip() == "['OK', 'omission']"


@pytest.mark.slow
@needs(RAY.exists(), "Ray")
def test_ray_data(tmp_path: Path) -> None:
    alone = {**ENVIRONMENT, "RAY_ADDRESS": "local"}  # not in the cluster of a test that runs beside this one
    run(RAY, "examples/ray_data.py", "scorer/embedded/domains.parquet", tmp_path / "out", environment=alone)
    scored = pq.read_table(tmp_path / "out")
    assert scored.num_rows == 12
    assert set(scored["rough"].to_pylist()) == {"OK", "not_OK"}


def test_jobs_pass_the_same_options() -> None:
    for name in ("score.slurm", "kubernetes.yaml"):
        text = example(name)
        command = text[text.index("scorer run") :]
        assert set(re.findall(r"--\w+", command)) == {"--out", "--bundle", "--templates", "--part"}


@pytest.mark.slow
def test_the_slurm_script_runs_for_every_index(tmp_path: Path) -> None:
    home = tmp_path / "d2t"
    (home / "venv" / "bin").mkdir(parents=True)
    program(home / "venv" / "bin" / "scorer", f'exec "{sys.executable}" -m scorer "$@" --max-error-rate 1')
    harness.make_data(home / "data")
    make_bundle(home / "bundle")
    (home / "templates.json").write_text('{"eatType": "<subject> is a <object>."}')
    first, last = map(int, re.findall(r"--array=(\d+)-(\d+)", example("score.slurm"))[0])
    for index in range(first, last + 1):
        own = {**ENVIRONMENT, "D2T_HOME": str(home), "SLURM_ARRAY_TASK_ID": str(index)}
        run("sh", ROOT / "examples" / "score.slurm", environment=own)
    status = json.loads(run(sys.executable, "-m", "scorer", "status", home / "scored", "--json"))
    assert status["finished"] and not status["missing_parts"]
    assert status["done"] == status["planned"] == len(list((home / "data").rglob("*.parquet")))


@pytest.mark.slow
@needs(RAY.exists(), "the schema of Kubernetes")
def test_the_job_follows_the_schema_of_kubernetes() -> None:
    script = "import sys, yaml, kubernetes_validate as k; k.validate(yaml.safe_load(sys.stdin), '1.31', strict=True)"
    run(RAY, "-c", script, given=example("kubernetes.yaml"))


@pytest.mark.slow
def test_the_readme_from_the_top_in_a_clean_clone(tmp_path: Path) -> None:
    """Every `sh` block in order, as a stranger types them."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clone, *others = (block.replace("REPOSITORY", f"'file://{ROOT}'") for block in blocks(ROOT / "README.md", "sh"))
    # `pip install` goes into the environment that the README makes.
    script = "\n".join(["set -eu", f"python3() {{ '{sys.executable}' \"$@\"; }}", clone, *others])
    assert "omission (not_OK)" in run("bash", "-c", script, folder=tmp_path, environment=environment)
    folder = tmp_path / "d2t-scorer"
    assert (folder / "demo-out" / "domains.parquet").exists()
    shutil.copy(ROOT / "scorer" / "embedded" / "domains.parquet", folder / "data.parquet")
    for command in ("run data.parquet --out scored --bundle embedded", "audit scored --report report.html"):
        run(folder / "venv" / "bin" / "scorer", *command.split(), folder=folder, environment=environment)
    assert (folder / "report.html").stat().st_size < 1 << 20


@pytest.mark.slow
@needs(DOCS.exists(), "mkdocs")
def test_the_site_shows_the_options_of_a_scorer_with_their_defaults(tmp_path: Path) -> None:
    run(DOCS, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", tmp_path / "site")
    page = (tmp_path / "site" / "python" / "index.html").read_text(encoding="utf-8")
    table = page.partition('id="scorer.Scorer"')[2].partition("</table>")[0]
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL)]
    shown = {row[0]: html.unescape(" ".join(row)) for row in rows}
    for name, default in vars(Settings("")).items():
        last = "required" if name == "bundle" else "ColumnNames()" if name == "columns" else repr(default)
        assert shown[name].endswith(f" {last}"), shown[name]
    assert ":class:" not in page
