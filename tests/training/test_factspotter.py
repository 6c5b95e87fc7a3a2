"""The recipe of FactSpotter: its examples, its figures, and a run to the end on a tiny model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from scorer import Scorer
from scorer.metric.facts import Triple
from tests.export.checkpoints import make_checkpoint
from training.factspotter import __main__ as recipe
from training.factspotter.data import known, read
from training.factspotter.epochs import figures, rate_of
from training.factspotter.examples import Example, epoch

NAMES = ("Alan Bean", "Ilse Brandt", "Kofi Mensah", "Nuria Vidal", "Paolo Greco", "Helen Marsh")
FACTS = (
    ("birthPlace", "was born in", ("Wheeler", "Lisbon", "Nairobi", "Leeds")),
    ("occupation", "works as", ("architect", "test pilot", "nurse", "engineer")),
    ("almaMater", "studied at", ("UT Austin", "Upsala College", "Leeds Tech")),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Every name with every two facts, in a text that says both."""
    found: list[dict[str, object]] = []
    for i, name in enumerate(NAMES):
        for j, (one, said, values) in enumerate(FACTS):
            other, also, more = FACTS[(j + 1) % len(FACTS)]
            for k, value in enumerate(values):
                second = more[(i + k) % len(more)]
                triples = [Triple(name, one, value)._asdict(), Triple(name, other, second)._asdict()]
                text = f"{name} {said} {value} and {also} {second}."
                found.append({"triples": triples, "text": text, "category": "person"})
    pq.write_table(pa.Table.from_pylist(found), tmp_path / "data.parquet")
    return tmp_path / "data.parquet"


def taken_apart(example: Example) -> tuple[Triple, str]:
    fact, _, text = example.said.partition(", sentence: ")
    head, _, value = fact.partition(", object: ")
    predicate, _, subject = head.partition(", subject: ")
    return Triple(subject, predicate.removeprefix("predicate: "), value), text


def test_each_triple_of_each_text_has_a_positive_and_a_negative_example(data: Path) -> None:
    found = read(data)
    given = found, known(found)
    made = epoch(*given, 0, 0)
    triples = sum(len(row.triples) for row in found)
    assert len(made) == 2 * triples and sum(example.present for example in made) == triples
    assert made == epoch(*given, 0, 0) and made not in (epoch(*given, 0, 1), epoch(*given, 1, 0))
    assert len(epoch(*given, 0, 0, triples=10)) == 20


def test_a_positive_text_says_its_triple_and_a_negative_one_does_not(data: Path) -> None:
    """In these texts a triple is said if and only if its object follows the words of its predicate."""
    found = read(data)
    says = {"birth place": "was born in", "occupation": "works as", "alma mater": "studied at"}
    negatives, exchanged = {"predicate": 0, "text": 0}, 0
    for example in epoch(found, known(found), 3, 0):
        triple, text = taken_apart(example)
        said = f"{says[triple.predicate]} {triple.object}" in text and text.startswith(triple.subject)
        assert said == example.present, example
        if example.present:
            exchanged += triple.subject not in (name.lower() for name in NAMES)
        else:
            negatives["predicate" if triple.object in text and triple.subject in text else "text"] += 1
    count = sum(negatives.values())
    assert exchanged > 0.1 * count, "entities are exchanged in positive examples too"
    assert min(negatives.values()) > 0.2 * count


def test_learning_rates_are_torch_s() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=1.0)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimiser, T_0=1, T_mult=2)
    expected = []
    for _ in range(15):
        expected.append(scheduler.get_last_lr()[0])
        optimiser.step()
        scheduler.step()
    assert [rate_of(number) for number in range(15)] == pytest.approx(expected)


def test_figures_are_scikit_learn_s() -> None:
    expected = [True, True, False, True, False, False, True, True]
    found = [True, False, False, True, True, False, True, True]
    told = figures(found, expected)
    assert told["accuracy"] == pytest.approx(accuracy_score(expected, found))
    assert told["f1_present"] == pytest.approx(f1_score(expected, found))
    assert told["f1_weighted"] == pytest.approx(f1_score(expected, found, average="weighted"))


@pytest.mark.slow
def test_one_command_trains_and_exports(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = make_checkpoint(tmp_path / "base", "bert")
    out = tmp_path / "run"
    given = ["--base", base, "--data", data, "--out", out, "--epochs", "6", "--patience", "6", "--batch", "16"]
    given += ["--rate", "1e-3", "--precision", "fp32", "--held-out", "0.2"]
    monkeypatch.setattr(sys, "argv", ["recipe", *map(str, given)])
    recipe.main()
    told = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in (out / "training.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    assert len(losses) >= 2 and losses[-1] < losses[0]
    best = [line["held_out"]["f1_weighted"] for line in lines if "held_out" in line]
    assert told["held_out"]["f1_weighted"] == max(best) == best[told["epoch"]]
    with Scorer(out / "bundle", protocol="factspotter", device="cpu") as scorer:
        assert scorer.signature.startswith("model:factspotter@")
        verdict = scorer.score([("Alan Bean", "birthPlace", "Wheeler")], "Alan Bean was born in Wheeler.")
    assert verdict.fine in ("OK", "omission")
