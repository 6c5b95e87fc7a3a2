"""Texts with a note: a comparison without them is that of an output that never had them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from msgspec import to_builtins

from scorer.errors import UsageError
from scorer.evaluation.comparison import CompareOptions, compare
from scorer.evaluation.comparison_files import as_markdown
from scorer.evaluation.noted_texts import NOTES
from scorer.evaluation.sampling import read_labels
from scorer.metric import ColumnNames
from tests.evaluation.scored import save, scored
from tests.run.calls import scorer
from tests.scored_outputs import finish
from tests.scored_outputs import scored as scored_rows

JOINED = ("other_language", "truncated+other_language", "unknown_tokens", "other_language_or_not", None)
EXCLUDED = ("other_language", "truncated+other_language")


def rows(inputs: int = 60) -> pa.Table:
    """Texts of two systems for the same inputs; most texts of *de* that are noted are wrong."""
    rng = np.random.default_rng(75)
    noted = [JOINED[number % len(JOINED)] if number % 2 else None for number in range(2 * inputs)]
    fine = ["omission" if rng.random() < (0.8 if note in EXCLUDED else 0.1) else "OK" for note in noted]
    return scored(
        fine,
        system=["de" if number % 2 else "en" for number in range(2 * inputs)],
        triples=[[f"s{number // 2} | p | o"] for number in range(2 * inputs)],
        note=pa.array(noted, pa.string()),
        row_key=pa.array([b"%016d" % number for number in range(2 * inputs)], pa.binary(16)),
    )


def without(table: pa.Table) -> pa.Table:
    return table.filter(pa.array([note not in EXCLUDED for note in table["note"].to_pylist()]))


def figures(path: Path, *labels: Path, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """A comparison without what says which rows were left out, and its remarks."""
    remarks: list[str] = []
    comparison = to_builtins(compare(path, "out", labels, CompareOptions(**options), remarks.append))
    comparison["systems"] = [system | {"errors": 0} for system in comparison["systems"]]
    return comparison | {"excluded": {}, "next": []}, remarks


def test_a_comparison_without_them_is_that_of_the_other_rows(tmp_path: Path) -> None:
    table = rows()
    noted = sum(note in EXCLUDED for note in table["note"].to_pylist())
    every, rest = save(table, tmp_path / "all.parquet"), save(without(table), tmp_path / "rest.parquet")
    found, remarks = figures(every, exclude_notes=("other_language",))
    assert not remarks
    assert (found, remarks) == figures(rest)
    assert found != figures(every)[0]
    comparison = compare(
        every, "out", (), CompareOptions(exclude_notes=("other_language", "truncated")), remarks.append
    )
    assert comparison.excluded == {"other_language": noted, "truncated": noted // 2}
    assert comparison.next[1].endswith("--labels labels.csv --exclude-note other_language --exclude-note truncated")
    assert "without texts noted as other\\_language and truncated" in as_markdown(comparison)


def test_labels_of_people_for_them_do_not_count(tmp_path: Path) -> None:
    table = rows()
    paths = save(table, tmp_path / "all.parquet"), save(without(table), tmp_path / "rest.parquet")
    kept = [row for row, note in enumerate(table["note"].to_pylist()) if note not in EXCLUDED]
    files = []
    for path, numbers in zip(paths, (range(len(table)), kept), strict=True):
        output = read_labels(path, "out")
        files.append(tmp_path / f"{path.stem}.csv")
        with files[-1].open("w", newline="") as handle:
            writer = csv.writer(handle)
            writer.writerow(["item", "label"])
            # Every third row of the whole output, under its number in either file.
            writer.writerows(
                [output.item(at), ["OK", "omission"][row % 2]] for at, row in enumerate(numbers) if row % 3 == 0
            )
    assert figures(paths[0], files[0], exclude_notes=("other_language",)) == figures(paths[1], files[1])


def test_a_remark_says_how_many_there_are_and_in_which_system(tmp_path: Path) -> None:
    path = save(rows(), tmp_path / "out.parquet")
    noted = sum(note in EXCLUDED for note in rows()["note"].to_pylist())
    for _, remarks in (figures(path), figures(path, exclude_notes=("truncated",))):
        assert len(remarks) == 1 and "de " in remarks[0] and "en " not in remarks[0]
        assert "--exclude-note other_language" in remarks[0]
    assert figures(path)[1][0].startswith(f"{noted} of 120 texts are probably in a language")
    said = scorer("compare", path)
    assert f"note: {noted} of 120 texts are probably" in said.stderr
    excluded = scorer("compare", path, "--exclude-note", "other_language")
    assert f"left out: texts with a note: other_language {noted}" in excluded.stdout and "note:" not in excluded.stderr
    assert json.loads(scorer("compare", path, "--exclude-note", "other_language", "--json").stdout)["excluded"] == {
        "other_language": noted
    }


def test_the_columns_of_a_run_with_a_prefix_are_found(tmp_path: Path) -> None:
    names = ColumnNames(prefix="nli_")
    table = pa.table(
        {"text": ["t"] * 40, "system": ["a", "b"] * 20, "triples": [[f"s{n // 2} | p | o"] for n in range(40)]}
    )
    made = scored_rows(table, [0.9, 0.2] * 20, [0.9] * 40, names=names)
    marks = {
        "nli_note": pa.array(["other_language", None] * 20, pa.string()),
        "nli_contradicted": pa.array([[], [0]] * 20, pa.list_(pa.int32())),
    }
    for name, column in marks.items():
        made = made.set_column(made.schema.get_field_index(name), name, column)
    path = finish(tmp_path / "out", {"part-0.parquet": made}, prefix=names.prefix)
    found, remarks = figures(path)
    assert remarks[0].startswith("20 of 40 texts")
    assert {system["system"]: system["rates"]["contradicted_rate"]["count"] for system in found["systems"]} == {
        "a": 0,
        "b": 20,
    }


@pytest.mark.parametrize(
    ("notes", "message"),
    [(("german",), f"no such note; the notes are {', '.join(NOTES)}"), (("other_language",), "leaves no text")],
)
def test_unknown_notes_and_a_comparison_of_nothing_are_refused(
    tmp_path: Path, notes: tuple[str, ...], message: str
) -> None:
    table = scored(["OK"] * 4, system=["a", "b"] * 2, triples=[[f"s{row // 2} | p | o"] for row in range(4)],
                   note=["other_language"] * 4)  # fmt: skip
    path = save(table, tmp_path / "out.parquet")
    with pytest.raises(UsageError, match=message):
        figures(path, exclude_notes=notes)


def test_an_output_of_another_program_need_not_have_notes(tmp_path: Path) -> None:
    table = scored(
        ["OK", "omission"] * 4, system=["a", "b"] * 4, triples=[[f"s{row // 2} | p | o"] for row in range(8)]
    )
    for number, columns in enumerate(({}, {"note": pa.array([[1]] * 8)}, {"note": pa.array([1] * 8)})):
        whole = table
        for name, column in columns.items():
            whole = whole.append_column(name, column)
        assert not figures(save(whole, tmp_path / f"{number}.parquet"))[1]
