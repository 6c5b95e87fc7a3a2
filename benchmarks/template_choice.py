"""Does it matter how a template is chosen among rough candidates? Four ways to choose, the same outputs scored.

    python -m benchmarks.template_choice DIR [--bundle embedded-e2e] [--slots 2] [--seeds 10] [--out FOLDER]

DIR holds ``e2e_all.parquet`` and ``e2e_primary.parquet``: triples, text, system, mr_id, gold_fine. References are made
from the outputs of half of the inputs: sentences that name at most so many slots of their input, as far as values can
be found in them; each stands as a reference of each slot, which is what makes the templates rough: they say more than
their fact, or less. `scorer templates extract` makes candidates of them; each choice, and
``random`` with several seeds, gives a template file, with which outputs for the other half of the inputs are scored and
held against the gold as `scorer evaluate` does. Intervals are over inputs, paired: all template files see the same
draws; those of the difference to random are over the seeds as well.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scorer import Scorer
from scorer.evaluation.bootstrap import RESAMPLES, SEED, percentiles
from scorer.evaluation.figures import confusion, measure
from scorer.inference.bundle import Bundle
from scorer.metric.inputs import ColumnNames
from scorer.metric.triples import Triple
from scorer.scoring.output_columns import fine_codes, group_codes, rough_of
from scorer.templating.making import make_templates
from scorer.templating.matching import delexicalise, is_boolean

FIGURES = (
    ("fine", "accuracy"),
    ("rough", "accuracy"),
    ("rough", "f1"),
    ("omission", "f1"),
    ("hallucination", "f1"),
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_FAMILY = re.compile(r"famil|kid|child", re.IGNORECASE)


def rough_references(triples: list[Triple], text: str, slots: int) -> list[tuple[Triple, str]]:
    """Sentences of an output that name one to ``slots`` of its slots, as a reference of each of them."""
    found = []
    for sentence in _SENTENCES.split(text.strip()):
        named = []
        for triple in triples:
            if is_boolean(triple.object):
                said = bool(_FAMILY.search(sentence))
            else:
                said = delexicalise(triple, sentence).reason not in ("no_object", "neither")
            if said:
                named.append(triple)
        if len(named) <= slots:
            found += [(triple, sentence) for triple in named if delexicalise(triple, sentence).template]
    return found


def make_references(source: Path, out: Path, slots: int) -> int:
    """References from the outputs of inputs with an even number, each sentence once. Returns their number."""
    table = pq.read_table(source, columns=["triples", "text", "mr_id"])
    made: dict[tuple[Triple, str], None] = {}
    for row in table.filter(pa.array(table["mr_id"].to_numpy() % 2 == 0)).to_pylist():
        made.update(dict.fromkeys(rough_references([Triple(**t) for t in row["triples"]], row["text"], slots)))
    pq.write_table(pa.table({"triples": [[t._asdict()] for t, _ in made], "text": [s for _, s in made]}), out)
    return len(made)


def outputs_to_judge(source: Path) -> pa.Table:
    """Outputs for inputs with an odd number by every second system in alphabetical order."""
    table = pq.read_table(source, columns=["triples", "text", "system", "mr_id", "gold_fine"])
    systems = sorted(set(table["system"].to_pylist()))[::2]
    chosen = np.isin(table["system"].to_pylist(), systems) & (table["mr_id"].to_numpy() % 2 == 1)
    return table.filter(pa.array(chosen))


def counts_by_input(table: pa.Table, templates: Path, bundle: str) -> tuple[Any, Any]:
    """Confusion by input under a template file: FINE (inputs, 4, 5), ROUGH (inputs, 2, 3)."""
    scorer = Scorer(bundle, templates=templates, columns=ColumnNames(keep=()))
    scored = scorer.score_table(table)
    scorer.engine.close()
    inputs, values = group_codes(table["mr_id"].combine_chunks())
    gold = fine_codes(table["gold_fine"].combine_chunks(), "gold_fine")
    fine = fine_codes(scored["fine"].combine_chunks(), "fine")
    return (
        confusion(gold, fine, 4, inputs, len(values)),
        confusion(rough_of(gold), rough_of(fine), 2, inputs, len(values)),
    )


def draws(fine: Any, rough: Any, weights: Any) -> dict[str, Any]:
    """Every figure under each row of weights, *Shape:* (samples, inputs)."""
    flat = [np.einsum("si,iab->sab", weights, counts) for counts in (fine, rough)]
    measured = measure(*flat)
    return {f"{block}.{name}": measured[block][name] for block, name in FIGURES}


def compare(counts: dict[str, tuple[Any, Any]], seeds: int) -> dict[str, Any]:
    """Figures of each template file with intervals, and how far each choice is from the mean of the random ones."""
    inputs = len(next(iter(counts.values()))[1])
    rng = np.random.default_rng(SEED)
    weights = rng.multinomial(inputs, np.full(inputs, 1 / inputs), size=RESAMPLES)
    drawn_seeds = rng.integers(0, seeds, (seeds, RESAMPLES))
    ones = np.ones((1, inputs), np.int64)
    sampled = {name: draws(*pair, weights) for name, pair in counts.items()}
    observed = {name: draws(*pair, ones) for name, pair in counts.items()}
    randoms = [f"random-{seed}" for seed in range(seeds)]
    result: dict[str, Any] = {
        "inputs": inputs,
        "rows": int(next(iter(counts.values()))[1].sum()),
        "figures": {},
        "against_random": {},
    }
    for name in counts:
        result["figures"][name] = {
            figure: [
                round(float(v), 4)
                for v in (observed[name][figure][0], *(percentiles(sampled[name][figure]) or (np.nan, np.nan)))
            ]
            for figure in observed[name]
        }
    for name in (name for name in counts if name not in randoms):
        lines = {}
        for figure in observed[name]:
            mean = float(np.mean([observed[r][figure][0] for r in randoms]))
            by_seed = np.array([sampled[r][figure] for r in randoms])
            drawn = sampled[name][figure] - by_seed[drawn_seeds, np.arange(RESAMPLES)].mean(axis=0)
            low, high = percentiles(drawn) or (np.nan, np.nan)
            beaten = sum(bool(observed[name][figure][0] > observed[r][figure][0]) for r in randoms)
            difference = float(observed[name][figure][0]) - mean
            lines[figure] = {"random_mean": round(mean, 4), "difference": round(difference, 4),
                             "interval": [round(low, 4), round(high, 4)], "seeds_beaten": beaten}  # fmt: skip
        result["against_random"][name] = lines
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--bundle", default="embedded-e2e")
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, default=None, help="keep references, templates and figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        made = make_references(arguments.data / "e2e_all.parquet", folder / "references.parquet", arguments.slots)
        print(f"references: {made}")
        table = outputs_to_judge(arguments.data / "e2e_primary.parquet")
        names = ["nli", "frequent", "first", *(f"random-{seed}" for seed in range(arguments.seeds))]
        counts = {}
        engine = Scorer(arguments.bundle).engine
        for name in names:
            choose, _, seed = name.partition("-")
            report = make_templates(
                [str(folder / "references.parquet")], folder / f"{name}.json", ColumnNames(), choose=choose,
                seed=int(seed or 0), model=engine if choose == "nli" else None, force=True,
            )  # fmt: skip
            if name == "nli":
                print(f"candidates: {report['candidates']}, pairs asked: {report['pairs']}", flush=True)
            counts[name] = counts_by_input(table, folder / f"{name}.json", arguments.bundle)
            print(f"scored with {name}", flush=True)
        engine.close()
        own = Bundle.load(arguments.bundle).templates_file
        if own is not None:
            counts["bundle"] = counts_by_input(table, own, arguments.bundle)
            print("scored with the bundle's own templates, written by hand")
        result = compare(counts, arguments.seeds)
        (folder / "figures.json").write_text(json.dumps(result, indent=1) + "\n")
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
