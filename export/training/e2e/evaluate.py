"""Figures of embedded-e2e on E2E system outputs whose inputs were not used for training.

    python -m export.training.e2e.evaluate --data ../shared/data/public                  # the checkpoint, by torch
    python -m export.training.e2e.evaluate --data ../shared/data/public --scored OUT     # a `scorer run` of e2e_primary

Only rows of primary systems for the validation inputs count. Gold is `gold_fine`, the labels of the slot script.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from export.training.e2e.corpus import is_validation
from export.training.e2e.facts import TEMPLATES
from scorer.metric.templates import Templates

FINE = ("OK", "omission", "hallucination", "omission+hallucination")
Figures = dict[str, Any]


def side_figures(gold: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 of a side's failures. *Shape:* (rows,) bool each."""
    hit = int((gold & found).sum())
    precision = hit / max(1, int(found.sum()))
    recall = hit / max(1, int(gold.sum()))
    f1 = 2 * hit / max(1, int(gold.sum()) + int(found.sum()))
    return {"precision": precision, "recall": recall, "f1": f1, "gold": int(gold.sum())}


def figures(gold: list[str], found: list[str]) -> Figures:
    """Accuracy FINE and ROUGH, macro-F1 over the four FINE labels, and each side on its own."""
    g, f = np.array(gold), np.array(found)
    both = {side: (np.char.find(g, side) >= 0, np.char.find(f, side) >= 0) for side in ("omission", "hallucination")}
    macro = [side_figures(g == label, f == label)["f1"] for label in FINE]
    return {
        "rows": len(gold),
        "fine": float((g == f).mean()),
        "rough": float(((g == "OK") == (f == "OK")).mean()),
        "macro_f1": float(np.mean(macro)),
        **{side: side_figures(*pair) for side, pair in both.items()},
    }


def fine_label(omission: bool, hallucination: bool) -> str:
    """The FINE label of two failed sides."""
    return "+".join(n for n, on in (("omission", omission), ("hallucination", hallucination)) if on) or "OK"


def verdicts(scored: list[dict[str, Any]], omission_shift: float = 0.0, hallucination_shift: float = 0.0) -> list[str]:
    """FINE labels of rows scored by :func:`scoring.score_rows`; shifts are added to the entailment logit."""
    shift_o, shift_h = np.array([0, 0, omission_shift]), np.array([0, 0, hallucination_shift])
    return [
        fine_label(
            bool(((row["omission"] + shift_o).argmax(1) != 2).any()),
            bool((row["hallucination"] + shift_h).argmax() != 2),
        )
        for row in scored
    ]


def strawmen(gold: list[str]) -> dict[str, list[str]]:
    """Two trivial predictions: always OK; all omissions right, and no hallucinations."""
    return {
        "always OK": ["OK"] * len(gold),
        "perfect omissions alone": ["omission" if "omission" in label else "OK" for label in gold],
    }


def line(name: str, result: Figures) -> str:
    """A row of the Markdown table."""
    cells = [f"{result[key]:.3f}" for key in ("fine", "rough", "macro_f1")]
    for side in ("omission", "hallucination"):
        cells += [f"{result[side][key]:.3f}" for key in ("precision", "recall", "f1")]
    return f"| {name} | {result['rows']} | " + " | ".join(cells) + " |"


HEAD = (
    "| | rows | Af | Ar | macro-F1 | om P | om R | om F1 | hal P | hal R | hal F1 |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def report(rows: list[dict[str, Any]], found: list[str]) -> str:
    """The tables of the model card."""
    gold = [row["gold_fine"] for row in rows]
    keep = [not row["gold_suspect"] for row in rows]

    def of(name: str, chosen: list[bool], labels: list[str] = found) -> str:
        where = [i for i, on in enumerate(chosen) if on]
        return line(name, figures([gold[i] for i in where], [labels[i] for i in where]))

    every = [True] * len(rows)
    lines = [HEAD, of("model", every), of("model, without `gold_suspect`", keep)]
    for name, labels in strawmen(gold).items():
        lines.append(of(name, every, labels))
        lines.append(of(f"{name}, without `gold_suspect`", keep, labels))
    groups: dict[str, list[str]] = {
        "number of triples": [str(len(row["triples"])) for row in rows],
        "system": [row["primary_system"] for row in rows],
    }
    for title, members in groups.items():
        lines += ["", f"By {title}, without `gold_suspect`:", "", HEAD]
        for group in sorted(set(members)):
            lines.append(of(group, [on and member == group for on, member in zip(keep, members, strict=True)]))
    return "\n".join(lines)


def part_rows(path: Path, validation: bool = True) -> list[dict[str, Any]]:
    """The rows of a Parquet file that belong to the validation inputs (or to the training inputs)."""
    table = pq.read_table(path)
    name = "primary_system" if "primary_system" in table.column_names else "system"
    rows: list[dict[str, Any]] = [
        {**row, "primary_system": row[name]} for row in table.to_pylist() if is_validation(row["mr"]) == validation
    ]
    return rows


def errors(rows: list[dict[str, Any]], found: list[str]) -> list[dict[str, str]]:
    """The rows whose label is wrong, for reading."""
    return [
        {"mr": row["mr"], "text": row["text"], "gold": row["gold_fine"], "found": label, "diff": row["gold_diff"],
         "system": row["primary_system"], "suspect": str(row["gold_suspect"])}
        for row, label in zip(rows, found, strict=True) if row["gold_fine"] != label
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m export.training.e2e.evaluate", description="Figures of the model card"
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with e2e_primary.parquet")
    parser.add_argument("--checkpoint", type=Path, default=Path(__file__).with_name("checkpoint"))
    parser.add_argument("--templates", type=Path, default=TEMPLATES)
    parser.add_argument("--backoff", action="store_true", help="no templates at all")
    parser.add_argument("--scored", type=Path, help="output of `scorer run` on e2e_primary.parquet instead")
    parser.add_argument("--errors", type=Path, help="write the wrongly labelled rows here, as JSON lines")
    parser.add_argument("--part", default="validation", choices=("validation", "training"))
    options = parser.parse_args()
    validation = options.part == "validation"
    if options.scored:
        files = sorted(options.scored.glob("*.parquet")) if options.scored.is_dir() else [options.scored]
        rows = [row for file in files for row in part_rows(file, validation)]
        found = [row["fine"] for row in rows]
    else:
        from export.training.e2e.scoring import Checkpoint, score_rows

        rows = part_rows(options.data / "e2e_primary.parquet", validation)
        templates = Templates() if options.backoff else Templates.load(options.templates)
        found = verdicts(score_rows(Checkpoint(options.checkpoint), rows, templates))
    print(report(rows, found))
    if options.errors:
        text = "".join(json.dumps(error, ensure_ascii=False) + "\n" for error in errors(rows, found))
        options.errors.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
