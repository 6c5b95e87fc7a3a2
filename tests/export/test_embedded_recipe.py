"""The recipe of the embedded model: repeatable, no shortcut from facts to label, templates for all of E2E.

Torch is not needed here; what trains the network is exercised by the recipe itself.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from export.training.e2e.corpus import Item, Source, is_validation, read_outputs, said, slots_of, training_items
from export.training.e2e.data import ENTAILMENT, Mix, Pair, fact_label, pairs, slot_states, text_label
from export.training.e2e.evaluate import figures, fine_label, strawmen
from export.training.e2e.facts import FACT_SLOTS, GROUPS, TEMPLATES, Wordings, group_of, some_value
from export.training.e2e.grammar import synthetic_text
from scorer.metric.templates import Templates
from scorer.metric.triples import Triple

CHOSEN = Mix(natural=0.0)


def _drawn(mix: Mix, count: int = 3000, seed: int = 0) -> list[Pair]:
    return pairs(Source([], synthetic_share=1.0), mix, count, random.Random(seed))


def test_the_same_seed_gives_the_same_pairs() -> None:
    assert _drawn(Mix(), 200, seed=3) == _drawn(Mix(), 200, seed=3)
    assert _drawn(Mix(), 200, seed=3) != _drawn(Mix(), 200, seed=4)


@pytest.mark.parametrize("facts_first", [True, False])
def test_true_and_false_pairs_look_alike(facts_first: bool) -> None:
    """Number of facts, order and wording must not tell the label."""
    found = [p for p in _drawn(Mix(facts_first=float(facts_first), natural=0.0)) if p.facts_first == facts_first]
    true = [p for p in found if p.label == ENTAILMENT]
    false = [p for p in found if p.label != ENTAILMENT]
    assert min(len(true), len(false)) > 0.3 * len(found)

    def mean(of: list[Pair], measure: object) -> float:
        return sum(measure(p) for p in of) / len(of)  # type: ignore[operator]

    templates = json.loads(TEMPLATES.read_text(encoding="utf-8"))
    area = templates["area"].split("<subject>")[1].split("<object>")[0]
    for measure, tolerance in (
        (lambda p: len(p.facts), 0.5),
        (lambda p: len(" ".join(p.facts)) / len(p.facts), 3.0),
        (lambda p: any(area in fact for fact in p.facts), 0.08),
        (lambda p: p.facts[0].startswith("The venue"), 0.08),
        (lambda p: " ." in p.facts[0], 0.05),
    ):
        assert abs(mean(true, measure) - mean(false, measure)) < tolerance


def test_labels_follow_from_what_the_text_says() -> None:
    item = Item("…", {"name": frozenset({"A"}), "food": frozenset({"Thai"}), "eatType": frozenset({"pub"})})
    assert fact_label(item, "A", "food", "Thai") == 2
    assert fact_label(item, "A", "food", "French") == 0
    assert fact_label(item, "A", "area", "riverside") == 1
    assert fact_label(item, "B", "food", "Thai") == 0
    facts = {"name": "A", "food": "Thai", "eatType": "pub"}
    assert text_label(slot_states(item, facts)) == 2
    assert text_label(slot_states(item, {**facts, "area": "riverside"})) == 2
    assert text_label(slot_states(item, {**facts, "eatType": "restaurant"})) == 0
    del facts["food"]
    assert text_label(slot_states(item, facts)) == 1


def test_gold_differences_become_what_a_text_says() -> None:
    mr = {"name": "A", "food": "French", "area": "riverside"}
    diff = {"food": {"French": -1, "Italian": 1}, "area": {"riverside": -1}, "eatType": {"pub": 1}}
    assert said(mr, diff) == {"name": {"A"}, "food": {"Italian"}, "eatType": {"pub"}}


def test_no_value_is_drawn_that_the_gold_might_take_for_the_right_one() -> None:
    rng = random.Random(0)
    for slot, groups in GROUPS.items():
        for value in (value for group in groups for value in group):
            drawn = {some_value(slot, rng, (value,)) for _ in range(60)}
            assert drawn and not drawn & set(group_of(slot, value))


def test_synthetic_texts_name_their_venue_and_neighbour() -> None:
    rng = random.Random(1)
    for _ in range(300):
        text, says = synthetic_text(rng)
        for slot in ("name", "near"):
            assert all(value.lower() in text.lower() for value in says.get(slot, ()))


def test_the_recipe_words_facts_as_the_scorer_does() -> None:
    templates, wordings = Templates.load(TEMPLATES), Wordings()
    for slot in FACT_SLOTS:
        value = some_value(slot, random.Random(0))
        mine = wordings.shipped(slot, value).replace("<subject>", "A").replace("<object>", value)
        fact = templates.fill(Triple("A", slot, value))
        assert (fact.text, fact.backoff) == (mine, False)


def test_templates_cover_every_e2e_input(shared_data: Path) -> None:
    templates = Templates.load(TEMPLATES)
    rows = read_outputs(shared_data)
    triples = {(t["predicate"], t["object"]) for row in rows for t in row["triples"]}
    assert not [pair for pair in triples if templates.fill(Triple("A", *pair)).backoff]


def test_training_texts_have_only_training_inputs(shared_data: Path) -> None:
    rows = read_outputs(shared_data)
    held_back = {row["mr"] for row in rows if is_validation(row["mr"])}
    assert 0.2 < len(held_back) / len({row["mr"] for row in rows}) < 0.3
    inputs = {json.dumps(slots_of(row)) for row in rows if row["mr"] in held_back}
    items = training_items(rows)
    assert not [item for item in items if json.dumps(item.mr) in inputs]
    counts = Counter(pair.label == ENTAILMENT for pair in pairs(Source(items, 0.2), Mix(), 2000, random.Random(0)))
    assert counts[True] > counts[False] > 400


def test_figures_of_a_hand_made_table() -> None:
    gold = ["OK", "OK", "omission", "hallucination", "omission+hallucination"]
    found = ["OK", "omission", "omission", "OK", "hallucination"]
    result = figures(gold, found)
    assert result["fine"] == pytest.approx(2 / 5)
    assert result["rough"] == pytest.approx(3 / 5)
    assert [result["omission"][key] for key in ("precision", "recall", "f1")] == [0.5, 0.5, 0.5]
    assert result["hallucination"]["precision"] == 1.0 and result["hallucination"]["recall"] == 0.5
    # F1: OK 1/2, omission 2/3, the other two 0.
    assert result["macro_f1"] == pytest.approx((1 / 2 + 2 / 3) / 4)


def test_strawmen_are_what_they_are_called() -> None:
    gold = ["OK", "omission", "hallucination", fine_label(True, True)]
    assert figures(gold, strawmen(gold)["always OK"])["fine"] == 0.25
    careful = figures(gold, strawmen(gold)["perfect omissions alone"])
    assert careful["omission"]["f1"] == 1.0 and careful["hallucination"]["f1"] == 0.0


def test_the_entailment_bias_is_the_middle_of_a_plateau() -> None:
    pytest.importorskip("torch")
    from export.training.e2e.calibrate import SHIFTS, best_shift

    level = [0.5] * len(SHIFTS)
    assert best_shift(level) == 0.0
    lone_peak = level.copy()
    lone_peak[1] = 0.65
    for i in (14, 15, 16):
        lone_peak[i] = 0.6
    assert best_shift(lone_peak) == SHIFTS[15]
