"""A night as two tasks of Airflow, so that the audit can be repeated on its own; see docs/nightly.md."""

from datetime import datetime

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

YESTERDAY = "nights/{{ macros.ds_add(ds, -1) }}"
# A baseline for each signature: of the model, the templates and the options.
PASSED = "nights/passed-$(grep -m 1 '\"signature\":' nights/{{ ds }}/_run.json | sha256sum | cut -c 1-12)"
BASELINE = "$(p=$(readlink $passed) && [ $p != {{ ds }} ] && echo --baseline nights/$p --gates changes.toml)"
SUMMARY = "nights/{{ ds }}/_summary.md"

with DAG(
    "d2t_audit",
    schedule="15 2 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"cwd": "/srv/d2t"},
) as dag:
    score = BashOperator(
        task_id="score",
        bash_command="venv/bin/scorer run data --out nights/{{ ds }} --bundle bundle --templates templates.json"
        f" $([ -e {YESTERDAY}/_SUCCESS ] && echo --reuse {YESTERDAY}) || [ $? -eq 3 ]",
    )
    audit = BashOperator(
        task_id="audit",
        bash_command=f"passed={PASSED};"
        " venv/bin/scorer audit nights/{{ ds }} --require-gates --gates gates.toml"
        f" --report nights/{{{{ ds }}}}/_report.html --summary {SUMMARY} {BASELINE}"
        f" && (grep -q '^## Passed with warnings' {SUMMARY} || ln -sfn {{{{ ds }}}} $passed)",
    )
    score >> audit
