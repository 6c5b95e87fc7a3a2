"""The Airflow example, run by Airflow: exit codes become states of tasks, gates are in the log."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.audit.nightly_script import example
from tests.audit.test_nightly import BAD, GOOD
from tests.bundles import RESTAURANTS
from tests.conftest import ROOT

AIRFLOW = ROOT / ".venv-airflow" / "bin" / "airflow"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AIRFLOW.exists(), reason="Airflow has its own environment, which `make test-slow` makes"),
]


def airflow(home: Path, *arguments: str) -> str:
    environment = os.environ | {
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "D2T_HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run([AIRFLOW, *arguments], cwd=home, env=environment, capture_output=True, text=True, timeout=600)
    return done.stdout + done.stderr


def night(home: Path, date: str, texts: list[str | None]) -> tuple[dict[str, str], str]:
    """The states of the tasks of one night, and the log. Without ``texts`` there is no data."""
    (home / "data" / "a.parquet").unlink(missing_ok=True)
    if texts:
        table = pa.table({"triples": [["The Mill | food | French"]] * len(texts), "text": pa.array(texts, pa.string())})
        pq.write_table(table, home / "data" / "a.parquet")
    log = airflow(home, "dags", "test", "d2t_audit", date)
    query = "select t.task_id, t.state from task_instance t join dag_run r on r.run_id = t.run_id "
    with sqlite3.connect(home / "airflow" / "airflow.db") as database:
        found = database.execute(f"{query} where r.logical_date like ?", (f"{date}%",)).fetchall()
    return dict(found), log


def test_exit_codes_become_states_of_tasks(gated_home: Path) -> None:
    home = gated_home
    (home / "dags").mkdir()
    dag = example("airflow_dag.py").replace("/srv/d2t", str(home)).replace("--bundle bundle", f"--bundle {RESTAURANTS}")
    (home / "dags" / "d2t.py").write_text(dag)
    airflow(home, "db", "migrate")
    states, log = night(home, "2026-01-02", [GOOD] * 4)
    assert states == {"score": "success", "audit": "success"}, log
    assert "Passed: nights/2026-01-02" in log and (home / "nights" / "2026-01-02" / "_report.html").is_file()
    # One text is null, so that the run exits with 3; the gates of the audit decide.
    states, log = night(home, "2026-01-03", [GOOD, BAD, BAD, BAD, None])
    assert states == {"score": "success", "audit": "failed"}, log
    for said in ("--max-error-rate", "1 reused", "Since nights/2026-01-02", "all rows: not_ok_rate 80.0%"):
        assert said in log
    # No data: the run exits with 2, and nothing is audited.
    states, log = night(home, "2026-01-04", [])
    assert states == {"score": "failed", "audit": "upstream_failed"}, log
    assert "has no file to read" in log and not (home / "nights" / "2026-01-04").exists()
