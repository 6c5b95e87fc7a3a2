"""Figures of a bundle on the public tests; none of them was trained on.

    python -m export.training.general.evaluate --bundle B --data ../shared/data --out DIR

It computes with the bundle, as users do, and writes DIR/figures.json and, for reading, DIR/wrong-SET.jsonl.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from export.training.general.calibrate import calibration_error
from export.training.general.figures import (
    difference,
    label_figures,
    nli_hits,
    precision_at,
    string_match,
    within_inputs,
)
from export.training.network import NLI_LABELS
from scorer import Scorer
from scorer.evaluation.correlation import statistic
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from scorer.metric.triples import Triple

Report = dict[str, Any]
BOX_SCORE_TEMPLATES = Path(__file__).resolve().parents[3] / "docs" / "boxscore-templates.json"
FLAGGED = 160
RATED = {"human_correctness": "confidence", "human_coverage": "least_fact", "human_relevance": "text_entailment"}
"""Ratings of WebNLG20, and the score that each is compared with."""


@dataclass(frozen=True)
class Task:
    """What to evaluate: a bundle in one precision, on the files below `data`, at most `limit` rows of each."""

    bundle: str
    precision: Any
    data: Path
    limit: int | None
    webnlg_templates: Path | None
    e2e_templates: Path | None = None

    def rows(self, name: str) -> pa.Table:
        """A Parquet file; with a limit, rows spread over the whole of it."""
        table = pq.read_table(self.data / name)
        return table if self.limit is None else table.take(list(range(0, len(table), max(1, len(table) // self.limit))))

    def scored(self, table: pa.Table, templates: Path | None, **more: Any) -> pa.Table:
        """The columns of a run, for `triples` and `text`. ``templates``: none is backoff, never the bundle's own."""
        given: Any = templates or {}
        with Scorer(self.bundle, precision=self.precision, templates=given, device="cpu", **more) as scorer:
            return scorer.score_table(table.select(["triples", "text"]))


def nli(task: Task) -> tuple[Report, list[Report]]:
    """Accuracy by set; the calibration error of P(entailment)."""
    table = task.rows("nli/nli_test_public.parquet")
    premise, hypothesis, gold, sets = (table[n].to_pylist() for n in ("premise", "hypothesis", "label", "set"))
    bundle = Bundle.load(task.bundle)
    with Engine(bundle, device="cpu", precision=task.precision, truncate=True) as engine:
        texts = sorted({*premise, *hypothesis})
        place = {text: i for i, text in enumerate(texts)}
        first, second = (np.array([place[text] for text in side], np.int32) for side in (premise, hypothesis))
        work = engine.prepare(texts, first, second)
        p = engine.run(work).probabilities
    found = [NLI_LABELS[i] for i in p.argmax(1)]
    report: Report = {}
    wrong = []
    for name in sorted(set(sets)):
        at = [i for i, one in enumerate(sets) if one == name]
        hits = nli_hits([gold[i] for i in at], [found[i] for i in at])
        true = np.array([gold[i] == "entailment" for i in at])
        report[name] = {
            "n": len(at), "accuracy": float(hits.mean()),
            "calibration_error": calibration_error(p[at, NLI_LABELS.index("entailment")].astype(float), true),
        }  # fmt: skip
        wrong += [
            {"set": name, "premise": premise[i], "hypothesis": hypothesis[i], "gold": gold[i], "found": found[i]}
            for i, hit in zip(at, hits, strict=True) if not hit
        ]  # fmt: skip
    return report, wrong


def e2e(task: Task) -> tuple[Report, list[Report]]:
    """FINE and ROUGH accuracy and both sides' figures, with templates where they are given, and by backoff."""
    ways = {"backoff": None} if task.e2e_templates is None else {"templates": task.e2e_templates, "backoff": None}
    table = task.rows("public/e2e_primary.parquet")
    gold, report, wrong = table["gold_fine"].to_pylist(), {}, []
    for name, templates in ways.items():
        found = task.scored(table, templates)["fine"].to_pylist()
        report[name] = label_figures(gold, [label or "" for label in found])
        if name == next(iter(ways)):
            wrong = [
                {"mr": row["mr"], "text": row["text"], "gold": row["gold_fine"], "found": label,
                 "suspect": row["gold_suspect"]}
                for row, label in zip(table.to_pylist(), found, strict=True) if label != row["gold_fine"]
            ]  # fmt: skip
    return report, wrong


def _columns(table: pa.Table) -> dict[str, np.ndarray]:
    least = [
        min((p for p in row or [] if p is not None), default=np.nan) for row in table["fact_entailment"].to_pylist()
    ]
    named = {n: [np.nan if v is None else v for v in table[n].to_pylist()] for n in ("confidence", "text_entailment")}
    found = {name: np.array(values, float) for name, values in (named | {"least_fact": least}).items()}
    # Blank text asks no check of the hallucination side: it says nothing at all.
    found["text_entailment"] = np.where(np.isnan(found["text_entailment"]), 0.0, found["text_entailment"])
    return found


def _rated(table: pa.Table, scored: pa.Table, pairs: dict[str, str], chosen: np.ndarray) -> Report:
    """Spearman of each rating with its score and with string match, among the chosen rows."""
    rows = table.select(["triples", "text"]).to_pylist()
    match = np.array([string_match([Triple(**t) for t in row["triples"]], row["text"]) for row in rows])
    keys = [json.dumps(sorted(map(list, (t.values() for t in row["triples"])))) for row in rows]
    inputs = np.unique(np.array(keys), return_inverse=True)[1]
    columns, spearman, report = _columns(scored), statistic("spearman"), {}
    for rating, name in pairs.items():
        human = np.array(table[rating].to_pylist(), float)
        at = chosen & ~np.isnan(columns[name]) & ~np.isnan(human)
        parts = columns[name][at], match[at], human[at], inputs[at]
        more, low, high = difference(*parts, spearman)
        report[rating] = {
            "n": int(at.sum()), "score": name, "spearman": spearman(parts[0], parts[2]),
            "string_match": spearman(parts[1], parts[2]), "difference": more, "interval": [low, high],
            "within_inputs": within_inputs(parts[0], parts[2], parts[3], spearman),
            "string_match_within_inputs": within_inputs(parts[1], parts[2], parts[3], spearman),
        }  # fmt: skip
    return report


def _far(table: pa.Table, scored: pa.Table, rating: str, score: str) -> list[Report]:
    """Rows in the order of how far their ranks by rating and by score are apart."""
    human, own = np.array(table[rating].to_pylist(), float), _columns(scored)[score]
    gap = np.abs(human.argsort().argsort() - own.argsort().argsort())
    rows = table.select(["mr", "text", rating]).to_pylist()
    return [rows[i] | {score: float(own[i])} for i in np.argsort(-gap)[:200]]


def webnlg17(task: Task) -> tuple[Report, list[Report]]:
    """Spearman of the confidence with human semantics: all rows, and those with text."""
    table = task.rows("public/webnlg17_humeval.parquet")
    scored = task.scored(table, task.webnlg_templates)
    text = np.array([bool(t and t.strip()) for t in table["text"].to_pylist()])
    pair = {"human_semantics": "confidence"}
    report = {
        "all": _rated(table, scored, pair, np.ones(len(table), bool)),
        "with_text": _rated(table, scored, pair, text),
    }
    return report, _far(table, scored, "human_semantics", "confidence")


def webnlg20(task: Task) -> tuple[Report, list[Report]]:
    """Spearman by sentence of correctness, coverage and relevance."""
    table = task.rows("public/webnlg20_humeval.parquet")
    scored = task.scored(table, task.webnlg_templates)
    report = _rated(table, scored, RATED, np.ones(len(table), bool))
    return report, _far(table, scored, "human_correctness", "confidence")


def box_scores(task: Task) -> tuple[Report, list[Report]]:
    """Precision of the least supported sentences of basketball texts: the share with a marked error."""
    table = task.rows("public/st_texts.parquet")
    errors: dict[str, list[tuple[int, int]]] = {}
    for e in pq.read_table(task.data / "public/st_gold_errors.parquet").to_pylist():
        errors.setdefault(e["text_id"], []).append((e["char_start"], e["char_end"]))
    scored = task.scored(table, BOX_SCORE_TEMPLATES, checks="hallucination", sentences=True)
    p, wrong, rows = [], [], []
    for row, sentences in zip(table.to_pylist(), scored["sentences"].to_pylist(), strict=True):
        for start, end, score in (tuple(s.values()) for s in sentences or []):
            p.append(score)
            wrong.append(any(a < end and start < b for a, b in errors.get(row["text_id"], [])))
            rows.append({"text": row["text"][start:end], "p": score, "wrong": wrong[-1]})
    count = min(FLAGGED, len(p))
    scores, marked = np.array(p, float), np.array(wrong)
    report = {"sentences": len(p), "wrong": float(marked.mean()), "flagged": count,
              "precision": precision_at(scores, marked, count)}  # fmt: skip
    return report, [row for row in rows if (row["p"] < 0.5) != row["wrong"]]


SETS: dict[str, Callable[[Task], tuple[Report, list[Report]]]] = {
    "nli": nli, "e2e": e2e, "webnlg17": webnlg17, "webnlg20": webnlg20, "box_scores": box_scores,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m export.training.general.evaluate", description=__doc__)
    parser.add_argument("--bundle", required=True, help="bundle folder, or a word such as embedded")
    parser.add_argument("--data", type=Path, required=True, help="folder with public/ and nli/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--e2e-templates", type=Path, default=None, help="in addition to backoff")
    parser.add_argument("--webnlg-templates", type=Path, default=None, help="default: backoff")
    parser.add_argument("--limit", type=int, default=None, help="use about N rows of each file")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    task = Task(
        options.bundle, options.precision, options.data, options.limit, options.webnlg_templates, options.e2e_templates
    )
    path = options.out / "figures.json"
    report: Report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in options.sets.split(","):
        report[name], wrong = SETS[name](task)
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in wrong)
        (options.out / f"wrong-{name}.jsonl").write_text(text, encoding="utf-8")
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(json.dumps({name: report[name]}, indent=1), flush=True)


if __name__ == "__main__":
    main()
