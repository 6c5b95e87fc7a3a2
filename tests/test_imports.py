"""Modules that are not imported before it is needed: counted as modules, since seconds depend on the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = {"torch", "transformers", "optimum", "onnx", "sklearn", "scipy", "sacrebleu", "obstore", "ray",
            "polars", "pandas", "nupunkt"}  # fmt: skip
COMMANDS = {"numpy", "pyarrow", "tokenizers", "onnxruntime", "msgspec", "rich", "jinja2", "duckdb"}
SCORER = {"onnxruntime", "typer", "rich", "jinja2", "duckdb", "pyarrow.dataset", "pyarrow.flight", "pyarrow.parquet",
          "ssl", "tokenizers"}  # fmt: skip


def loaded(program: str) -> set[str]:
    """Modules that a program imports."""
    listing = f"import sys; before = set(sys.modules); {program}; print(*set(sys.modules) - before)"
    ended = subprocess.run([sys.executable, "-c", listing], check=True, capture_output=True, text=True)
    return set(ended.stdout.split())


APP = "from scorer.commands import app; import typer.main; typer.main.get_command(app)"


@pytest.mark.parametrize(
    ("program", "absent", "most"),
    [
        ("import scorer", OPTIONAL | COMMANDS | {"importlib.metadata", "typer"}, 30),
        ("import scorer.commands", OPTIONAL | COMMANDS | {"importlib.metadata", "tomllib"}, 170),
        (
            f"{APP}.get_command(None, 'run')",
            OPTIONAL | COMMANDS | {f"scorer.commands.{name}" for name in ("audit", "evaluate", "check", "doctor")},
            220,
        ),
        (f"{APP}.commands", OPTIONAL | COMMANDS, 240),
        ("from scorer import Scorer", OPTIONAL | SCORER | {"importlib.metadata"}, 350),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(program: str, absent: set[str], most: int) -> None:
    found = loaded(program)
    assert not found & absent
    assert len(found) <= most


def test_what_reads_finished_outputs_imports_no_inference() -> None:
    found = loaded("import scorer.run.run_status, scorer.audit, scorer.evaluation.report, scorer.evaluation.true_rates")
    assert {name for name in found if name.startswith("scorer.inference")} <= {"scorer.inference"}  # names of options


def test_the_driver_of_a_run_leaves_arrays_and_tables_to_its_worker() -> None:
    found = loaded("import scorer.commands.run, scorer.run.driver, scorer.run.processes, scorer.inference.bundle")
    assert not {"numpy", "pyarrow", "tokenizers", "onnxruntime", "scorer.metric.inputs"} & found
