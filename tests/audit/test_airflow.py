"""The Airflow example, run by Airflow: exit codes become states of tasks, gates are in the log."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.test_nightly import example, home
from tests.bundles import RESTAURANTS
from tests.conftest import ROOT

AIRFLOW = ROOT / ".venv-airflow" / "bin" / "airflow"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AIRFLOW.exists(), reason="Airflow has its own environment, which `make test-slow` makes"),
]
__all__ = ["home"]


def airflow(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "D2T_HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    command = [str(AIRFLOW), *arguments]
    return subprocess.run(
        command, cwd=home, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        check=False,
    )  # fmt: skip


def night(home: Path, date: str, texts: list[str | None] | None) -> tuple[dict[str, str], str]:
    """The states of the tasks of one night, and the log. Without ``texts`` there is no data."""
    (home / "data" / "a.parquet").unlink(missing_ok=True)
    if texts is not None:
        table = pa.table({"triples": [["The Mill | food | French"]] * len(texts), "text": pa.array(texts, pa.string())})
        pq.write_table(table, home / "data" / "a.parquet")
    log = airflow(home, "dags", "test", "d2t_audit", date).stdout
    with sqlite3.connect(home / "airflow" / "airflow.db") as database:
        found = database.execute(
            "select t.task_id, t.state from task_instance t join dag_run r on r.run_id = t.run_id "
            "where r.logical_date like ?",
            (f"{date}%",),
        ).fetchall()
    return dict(found), log


def test_exit_codes_become_states_of_tasks(home: Path) -> None:
    (home / "dags").mkdir()
    dag = example("airflow_dag.py").replace("/srv/d2t", str(home)).replace("--bundle bundle", f"--bundle {RESTAURANTS}")
    (home / "dags" / "d2t.py").write_text(dag)
    made = airflow(home, "db", "migrate")
    assert made.returncode == 0, made.stdout
    good, bad = "The Mill serves French food.", "The Mill is in the city centre."
    states, log = night(home, "2026-01-02", [good] * 4)
    assert states == {"score": "success", "audit": "success"}, log
    assert "PASS  nights/2026-01-02" in log and (home / "nights" / "2026-01-02" / "_report.html").is_file()
    # One text is null, so that the run exits with 3; the gates of the audit decide.
    states, log = night(home, "2026-01-03", [good, bad, bad, bad, None])
    assert states == {"score": "success", "audit": "failed"}, log
    assert "--max-error-rate" in log and "1 reused" in log
    assert "FAIL  nights/2026-01-03" in log and "fail    all rows: not_ok_rate 80.0%" in log
    assert "baseline: nights/2026-01-02" in log
    # No data: the run exits with 2, and nothing is audited.
    states, log = night(home, "2026-01-04", None)
    assert "has no file to read" in log
    assert not (home / "nights" / "2026-01-04").exists()
    assert states == {"score": "failed", "audit": "upstream_failed"}, log
