"""The loss, a run of a tiny network, the teacher over the student's pieces, and what follows the runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from tests.training.examples import make_tokenizer, tiny
from training.batches import TrainingBatch, pools
from training.general.finish import average, best_bias, margin
from training.general.nli import CLS, NOT_ENTAILMENT, PAD, SEP, SPECIAL, UNLABELLED, save_tokenizer
from training.general.objective import KEPT, SMOOTHING, Loss, losses_of, recipe
from training.general.pools import NEAR, Replacer, near_pieces
from training.general.teacher import from_mpnet
from training.network import classify, load, save
from training.train import Run, begin


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of so small a network wait for each other longer than they compute: minutes, on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_not_entailment_is_one_minus_entailment() -> None:
    p = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    smooth = [SMOOTHING * sum(math.log(x) for x in row) / 3 for row in p.tolist()]
    for labels, hits in (((2, 0), (0.5, 0.6)), ((3, 3), (0.5, 0.9))):
        expected = -sum((1 - SMOOTHING) * math.log(h) + s for h, s in zip(hits, smooth, strict=True)) / 2
        assert float(losses_of(p.log(), torch.tensor(labels)).mean()) == pytest.approx(expected, rel=1e-5)


def test_an_earlier_network_is_a_target_where_it_is_right_and_the_only_one_without_a_label() -> None:
    torch.manual_seed(0)
    earlier = tiny(40)
    ids, logits = torch.randint(5, 40, (6, 9)), torch.randn(6, 3)
    known = classify(earlier, ids, torch.zeros_like(ids)).softmax(-1).detach()
    best = known.argmax(-1)
    right, wrong = best[0], (best[1] + 1) % 3
    label = torch.tensor([right, wrong, UNLABELLED, UNLABELLED, NOT_ENTAILMENT, NOT_ENTAILMENT])
    plain, kept = losses_of(logits, label), -(known * logits.log_softmax(-1)).sum(-1)
    mixed = (1 - KEPT) * plain + KEPT * kept
    expected = [mixed[0], plain[1], kept[2], kept[3], *(plain[i] if best[i] == 2 else mixed[i] for i in (4, 5))]
    batch = TrainingBatch(ids, torch.zeros_like(ids), label)
    assert float(Loss(earlier)(logits, batch)) == pytest.approx(float(torch.stack(expected).mean()), rel=1e-5)
    assert torch.equal(Loss(None)(logits, batch), plain.mean())


POOL = 5 * 4 * 8


class Pools:
    """Pool `number`: five batches of four pairs of eight tokens. *Entailment* if the last token is the first."""

    def batches(self, number: int) -> list[TrainingBatch]:
        generator = torch.Generator().manual_seed(number)
        made = []
        for _ in range(5):
            ids = torch.randint(5, 40, (4, 8), generator=generator)
            same = torch.arange(4) < 2
            ids[same, -1] = ids[same, 0]
            made.append(TrainingBatch(ids, torch.zeros_like(ids), torch.where(same, 2, 3)))
        return made


def run(out: Path, tokens: int = 8 * POOL) -> Run:
    begin(out, {"tokens": tokens})
    torch.manual_seed(3)
    run_recipe = recipe(Pools(), make_tokenizer("abc"), tokens, 1e-3, Loss(None), math.inf)  # type: ignore[arg-type]
    return Run(tiny(40), run_recipe, out, device="cpu")


def test_a_run_ends_at_its_tokens_and_leaves_its_settings_log_and_checkpoint(tmp_path: Path) -> None:
    whole = run(tmp_path / "run")
    whole.train(log_every=10)
    assert (whole.place.steps, whole.place.tokens, whole.place.pool) == (40, 8 * POOL, 8)
    lines = [json.loads(line) for line in (tmp_path / "run" / "training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20, 30, 40]
    assert json.loads((tmp_path / "run" / "settings.json").read_text()) == {"tokens": 8 * POOL}
    saved = load(tmp_path / "run" / "checkpoint").state_dict()
    for name, mean in whole.mean.module.state_dict().items():
        assert torch.allclose(saved[name], mean, atol=1e-3), name  # it is saved in halves
    with pytest.raises(SystemExit, match="is not empty"):
        run(tmp_path / "run")


@pytest.mark.parametrize(("steps", "logged"), [(1, [1]), (7, [7]), (23, [10, 20, 23])])
def test_a_run_shorter_than_the_interval_of_its_log_is_logged_and_changes_the_weights(
    tmp_path: Path, steps: int, logged: list[int]
) -> None:
    short = run(tmp_path / "run", steps * 4 * 8)
    before = short.network.classifier.weight.detach().clone()
    short.train(log_every=10)
    lines = [json.loads(line) for line in (tmp_path / "run" / "training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == logged and all(line["loss"] > 0 for line in lines)
    saved = load(tmp_path / "run" / "checkpoint").classifier.weight
    assert not torch.equal(saved, before.half().float())


def test_a_run_without_a_step_leaves_no_checkpoint(tmp_path: Path) -> None:
    late = run(tmp_path / "run")
    late.recipe = replace(late.recipe, ended=lambda _: True)
    with pytest.raises(SystemExit, match="no step changed the weights"):
        late.train()
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_it_learns_and_leaves_the_word_table_alone(tmp_path: Path) -> None:
    trained = run(tmp_path, 10_000 * POOL)
    words = trained.network.get_input_embeddings().weight
    before = words.clone()
    losses = [trained.step(trained.recipe.batches(0)[0])[0] for _ in range(200)]
    assert losses[-1] < 0.5 * losses[0]
    assert torch.equal(words, before)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more processes than a small machine has cores
def test_processes_make_the_same_pools_in_order() -> None:
    def made(number: int) -> list[TrainingBatch]:
        ids = torch.full((2, 3), number)
        return [TrainingBatch(ids, torch.zeros_like(ids), torch.tensor([0, number % 3]))]

    for makers in (0, 3):
        batches = [next(made)[0] for made in [pools(made, makers)] for _ in range(7)]
        assert [int(batch.ids[0, 0]) for batch in batches] == list(range(7))
        assert [batch.label.tolist() for batch in batches] == [[0, number % 3] for number in range(7)]


PIECES = [*SPECIAL, *(f"w{i}" for i in range(40)), *(str(i) for i in range(20)), ".", "##s"]
THEIRS = ["<s>", "<pad>", "</s>", "<unk>", *reversed(PIECES[5:]), "[UNK]", "<mask>"]


def test_the_teacher_computes_what_mpnet_computes_of_the_student_s_ids_and_drops_out_in_training(
    tmp_path: Path,
) -> None:
    torch.manual_seed(1)
    config = transformers.MPNetConfig(
        vocab_size=len(THEIRS), hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=300,
    )  # fmt: skip
    model = transformers.MPNetModel(config).eval()
    torch.nn.init.normal_(model.encoder.relative_attention_bias.weight)
    model.save_pretrained(tmp_path / "base")
    teacher = from_mpnet(tmp_path / "base", {piece: i for i, piece in enumerate(THEIRS)}, PIECES)
    ids = torch.randint(5, len(PIECES), (2, 200))
    ids[:, 0], ids[:, -1] = CLS, SEP
    ids[1, 150:] = PAD
    names = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>"}
    theirs = torch.tensor([[THEIRS.index(names.get(PIECES[i], PIECES[i])) for i in row] for row in ids.tolist()])
    save(teacher, tmp_path / "saved")
    saved = load(tmp_path / "saved")
    with torch.no_grad():
        expected = teacher.classifier.out_proj(model(theirs, attention_mask=(ids != PAD).long()).pooler_output)
        assert torch.allclose(classify(teacher, ids, torch.zeros_like(ids)), expected, atol=1e-5)
        assert torch.allclose(classify(saved, ids, torch.zeros_like(ids)), expected, atol=1e-2)
        assert not torch.equal(*(classify(saved.train(), ids, torch.zeros_like(ids)) for _ in range(2)))


def test_near_pieces_are_of_the_same_kind_and_a_changed_pair_has_no_label() -> None:
    words = torch.randn(len(PIECES), 16, generator=torch.Generator().manual_seed(0))
    near = near_pieces(words, PIECES)
    assert near.shape == (len(PIECES), NEAR)
    for i, piece in enumerate(PIECES):
        neighbours = {PIECES[j] for j in near[i]}
        if piece in SPECIAL or piece in (".", "##s"):
            assert neighbours == {piece}
        else:
            assert piece not in neighbours and all(other.isdigit() == piece.isdigit() for other in neighbours)
    ids = torch.randint(5, 65, (400, 30), generator=torch.Generator().manual_seed(2))
    ids[:, 0], ids[:, 14], ids[:, 25:] = CLS, SEP, PAD
    ids[:, 20] = ids[:, 4]  # the same word on both sides
    batch = TrainingBatch(ids, torch.zeros_like(ids), torch.full((400,), NOT_ENTAILMENT))
    replaced, again = Replacer(near)(batch, 7), Replacer(near)(batch, 7)
    assert torch.equal(replaced.ids, again.ids)
    changed = (replaced.ids != ids).any(1)
    assert torch.equal(replaced.label == UNLABELLED, changed)
    assert 0.4 < changed.float().mean() < 0.6
    kept = (ids == CLS) | (ids == SEP) | (ids == PAD)
    assert torch.equal(replaced.ids[kept], ids[kept])
    first, second = replaced.ids[:, 4], replaced.ids[:, 20]
    moved = first != ids[:, 4]
    assert 0.2 < (first == second)[moved].float().mean() < 0.9  # exchanged on both sides in some pairs, not in others


def test_a_checkpoint_named_twice_counts_twice_and_all_have_one_tokenizer(tmp_path: Path) -> None:
    first, second = folders = [tmp_path / "1", tmp_path / "2"]
    for value, folder in enumerate(folders, 1):
        network = tiny(8)
        for tensor in network.parameters():
            tensor.data.fill_(value)
        save(network, folder)
        save_tokenizer(make_tokenizer("abc"), folder)
    mean = average([first, second, second])
    assert all(bool(torch.allclose(tensor, torch.tensor(5 / 3))) for tensor in mean.parameters())
    save_tokenizer(make_tokenizer("abd"), second)
    with pytest.raises(SystemExit, match="another tokenizer"):
        average([first, second])


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_the_bias_is_where_the_log_loss_is_least(prior: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.random(2000) < 0.5
    logits = np.stack([rng.normal(size=2000), rng.normal(size=2000), 2 * true + rng.normal(size=2000)], 1)
    weight = np.where(true, prior / true.mean(), (1 - prior) / (1 - true.mean()))

    def loss(bias: float) -> float:
        chances = softmax(logits + np.array([0, 0, bias]), axis=1)[:, 2]
        return float(-(weight * np.log(np.where(true, chances, 1 - chances))).mean())

    assert best_bias(margin(logits), true, prior) == pytest.approx(minimize_scalar(loss).x, abs=1e-4)
