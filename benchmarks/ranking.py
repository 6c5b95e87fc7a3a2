"""Does ranking find the right text among four? On E2E inputs that embedded-e2e never saw, compared with simple rules.

    python -m benchmarks.ranking E2E_PRIMARY.parquet [--bundle embedded-e2e] [--draws 10] [--out FOLDER] [--json]

The file has mr, triples, text, system, gold_fine and, where texts were rated, human_quality and human_naturalness. Of
each input, four texts of different systems are drawn at random, as often as ``--draws`` says, such that at least one is
OK by the gold and at least one is not; the system whose texts are all OK is left out. `scorer rank` orders each draw.

``chosen``: share of draws whose chosen text is OK. ``auc``: of a pair of an OK text and one that is not, how often the
former is ranked higher (equal ranks count half), within draws. Ratings: the median of the chosen texts that have one,
since a few ratings of E2E are in the tens of thousands. Intervals are over inputs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from export.training.e2e.corpus import is_validation
from scorer.commands import app
from scorer.evaluation.bootstrap import SEED, cluster_samples, percentiles
from scorer.metric.ranking import WORSE, ranked
from scorer.metric.verdict import FINE

CANDIDATES = 4
RATINGS = ("human_naturalness", "human_quality")
Score = Callable[[Sequence[dict[str, Any]]], Sequence[float]]


@dataclass(frozen=True)
class Draw:
    """Texts of one input, as rows of the file."""

    mr: str
    rows: list[dict[str, Any]]


def draw(rows: Sequence[dict[str, Any]], draws: int, rng: np.random.Generator) -> list[Draw]:
    """Draws of each input that has texts of both kinds; the systems that are always right are left out."""
    right: dict[str, bool] = {}
    for row in rows:
        right[row["system"]] = right.get(row["system"], True) and row["gold_fine"] == "OK"
    by_input: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if not right[row["system"]]:
            by_input.setdefault(row["mr"], []).append(row)
    found = []
    for mr, texts in sorted(by_input.items()):
        if len({row["gold_fine"] == "OK" for row in texts}) < 2 or len(texts) < CANDIDATES:
            continue
        made = 0
        while made < draws:
            chosen = [texts[i] for i in rng.permutation(len(texts))[:CANDIDATES]]
            if len({row["gold_fine"] == "OK" for row in chosen}) == 2:
                found.append(Draw(mr, chosen))
                made += 1
    return found


def figures(draws: Sequence[Draw], scores: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The figures of one way to rank, each with its interval. ``scores``: of each text of each draw, higher is better;
    the first of equals is chosen."""
    best = [int(np.argmax(score)) for score in scores]
    inputs = np.unique([one.mr for one in draws], return_inverse=True)[1].reshape(-1)
    right = [float(one.rows[i]["gold_fine"] == "OK") for one, i in zip(draws, best, strict=True)]
    ordered = [auc(one, score) for one, score in zip(draws, scores, strict=True)]
    found = {"chosen": _figure(right, inputs, np.mean), "auc": _figure(ordered, inputs, np.mean)}
    for name in RATINGS:
        ratings = [_rating(one.rows[i], name) for one, i in zip(draws, best, strict=True)]
        found[name] = _figure(ratings, inputs, np.median)
    return found


def auc(one: Draw, scores: Sequence[float]) -> float:
    """Of the pairs of an OK text and another, the share in which the former has the higher score."""
    good = [score for row, score in zip(one.rows, scores, strict=True) if row["gold_fine"] == "OK"]
    bad = [score for row, score in zip(one.rows, scores, strict=True) if row["gold_fine"] != "OK"]
    return float(np.mean([(a > b) + 0.5 * (a == b) for a in good for b in bad]))


def _rating(row: dict[str, Any], name: str) -> float:
    value = row.get(name)
    return float("nan") if value is None else float(value)


def _figure(given: Sequence[float], inputs: np.ndarray, statistic: Callable[[np.ndarray], Any]) -> dict[str, Any]:
    """A statistic of the values that there are, with its interval."""
    values = np.array(given, float)
    there = ~np.isnan(values)
    values, inputs = values[there], inputs[there]
    if not len(values):
        return {"n": 0, "value": None, "interval": None}
    drawn = np.array([float(statistic(values[rows])) for rows in cluster_samples(inputs)])
    return {"n": len(values), "value": float(statistic(values)), "interval": percentiles(drawn)}


def rank(draws: Sequence[Draw], bundle: str, out: Path) -> list[list[float]]:
    """Ranks by `scorer rank`, the best highest."""
    table = pa.table({"mr": [one.mr for one in draws], "candidates": [[r["text"] for r in one.rows] for one in draws]})
    out.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, out / "draws.parquet")
    given = ["rank", str(out / "draws.parquet"), "--out", str(out / "ranked"), "--bundle", bundle]
    done = CliRunner().invoke(app, given)
    if done.exit_code:
        raise SystemExit(done.output)
    found = []
    for row in pq.read_table(out / "ranked" / "draws.parquet").to_pylist():
        fine = np.array([FINE.index(score["fine"]) for score in row["scores"]], np.int8)
        confidence = np.array([score["confidence"] for score in row["scores"]], np.float32)
        order = ranked(np.zeros(len(fine), np.int64), fine, confidence, WORSE)
        assert order[0] == row["best"]
        found.append([-float(np.flatnonzero(order == i)[0]) for i in range(len(fine))])
    return found


def rules(rows: Sequence[dict[str, Any]], rng: np.random.Generator) -> dict[str, Score]:
    """Ways to choose without looking at the facts."""
    share: dict[str, list[bool]] = {}
    for row in rows:
        share.setdefault(row["system"], []).append(row["gold_fine"] == "OK")
    return {
        "first": lambda texts: [-float(i) for i in range(len(texts))],
        "random": lambda texts: rng.random(len(texts)).tolist(),
        "longest": lambda texts: [float(len(row["text"])) for row in texts],
        "best system": lambda texts: [float(np.mean(share[row["system"]])) for row in texts],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--bundle", default="embedded-e2e")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = pq.read_table(given.data).to_pylist()
    unseen = [row for row in rows if is_validation(row["mr"])]
    seen = [row for row in rows if not is_validation(row["mr"])]
    rng = np.random.default_rng(SEED)
    draws = draw(unseen, given.draws, rng)
    with tempfile.TemporaryDirectory() as folder:
        found = {"scorer rank": figures(draws, rank(draws, given.bundle, given.out or Path(folder)))}
    for name, score in rules(seen, rng).items():  # the best system is known from the other inputs
        found[name] = figures(draws, [score(one.rows) for one in draws])
    report = {"inputs": len({one.mr for one in draws}), "draws": len(draws), "figures": found}
    if given.json:
        print(json.dumps(report))
        return
    print(f"{report['draws']} draws of {CANDIDATES} texts for {report['inputs']} inputs; {given.bundle}\n")
    names = ("chosen", "auc", *RATINGS)
    print("| | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for way, line in found.items():
        print(f"| {way} | " + " | ".join(_shown(line[name]) for name in names) + " |")


def _shown(found: dict[str, Any]) -> str:
    if found["value"] is None:
        return "–"
    low, high = found["interval"] or (float("nan"), float("nan"))
    return f"{found['value']:.3f} [{low:.3f}, {high:.3f}], n {found['n']:,}"


if __name__ == "__main__":
    main()
