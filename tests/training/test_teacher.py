"""The teacher is transformers' MPNet over the student's pieces; what it judges alone are pairs with words exchanged."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from training.batches import TrainingBatch, pools
from training.general import __main__ as recipe
from training.general import objective
from training.general.nli import CLS, NOT_ENTAILMENT, PAD, SEP, SPECIAL, UNLABELLED
from training.general.objective import Loss, losses_of
from training.general.pools import NEAR, Replacer, near_pieces
from training.general.teacher import Teacher, from_mpnet, is_teacher, load_teacher
from training.network import Network, Size

PIECES = [*SPECIAL, *(f"w{i}" for i in range(40)), *(str(i) for i in range(20)), ".", "##s"]
THEIRS = ["<s>", "<pad>", "</s>", "<unk>", *reversed(PIECES[5:]), "[UNK]", "<mask>"]


def mpnet() -> transformers.MPNetModel:
    torch.manual_seed(1)
    config = transformers.MPNetConfig(
        vocab_size=len(THEIRS), hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=300, layer_norm_eps=1e-12,
    )  # fmt: skip
    model = transformers.MPNetModel(config).eval()
    torch.nn.init.normal_(model.encoder.relative_attention_bias.weight)
    return model


def taught(model: transformers.MPNetModel) -> Teacher:
    return from_mpnet(model.state_dict(), {piece: i for i, piece in enumerate(THEIRS)}, PIECES, seed=0).eval()


def test_it_computes_what_mpnet_computes_for_near_and_far_tokens() -> None:
    model = mpnet()
    teacher = taught(model)
    ids = torch.randint(5, len(PIECES), (2, 200))
    ids[:, 0], ids[:, -1] = CLS, SEP
    ids[1, 150:] = PAD
    names = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>"}
    theirs = torch.tensor([[THEIRS.index(names.get(PIECES[i], PIECES[i])) for i in row] for row in ids.tolist()])
    with torch.no_grad():
        expected = model(theirs, attention_mask=(ids != PAD).long()).pooler_output
        expected = teacher.out(expected)
        assert torch.allclose(teacher(ids, torch.zeros_like(ids)), expected, atol=1e-5)


def test_a_saved_teacher_is_the_same_and_drops_out_only_in_training(tmp_path: Path) -> None:
    teacher = taught(mpnet())
    teacher.save(dict(teacher.named_parameters()), tmp_path)
    assert is_teacher(tmp_path)
    loaded = load_teacher(tmp_path)
    ids = torch.randint(5, len(PIECES), (3, 12))
    zeros = torch.zeros_like(ids)
    with torch.no_grad():
        assert not torch.equal(loaded.train()(ids, zeros), loaded(ids, zeros))
        assert torch.allclose(loaded.eval()(ids, zeros), teacher(ids, zeros), atol=1e-2)  # it is saved in halves


def test_near_pieces_are_of_the_same_kind_and_signs_stay() -> None:
    words = torch.randn(len(PIECES), 16, generator=torch.Generator().manual_seed(0))
    near = near_pieces(words, PIECES)
    assert near.shape == (len(PIECES), NEAR)
    for i, piece in enumerate(PIECES):
        found = {PIECES[j] for j in near[i]}
        if piece in SPECIAL or piece in (".", "##s"):
            assert found == {piece}
        else:
            assert piece not in found and all(other.isdigit() == piece.isdigit() for other in found)


def test_a_changed_pair_has_no_label_and_half_of_them_stay() -> None:
    words = torch.randn(len(PIECES), 16, generator=torch.Generator().manual_seed(0))
    replacer = Replacer(near_pieces(words, PIECES))
    ids = torch.randint(5, 65, (400, 30), generator=torch.Generator().manual_seed(2))
    ids[:, 0], ids[:, 14], ids[:, 25:] = CLS, SEP, PAD
    ids[:, 20] = ids[:, 4]  # the same word on both sides
    batch = TrainingBatch(ids, torch.zeros_like(ids), torch.full((400,), NOT_ENTAILMENT))
    found, again = replacer(batch, 7), replacer(batch, 7)
    assert torch.equal(found.ids, again.ids)
    changed = (found.ids != ids).any(1)
    assert torch.equal(found.label == UNLABELLED, changed)
    assert 0.4 < changed.float().mean() < 0.6
    kept = (ids == CLS) | (ids == SEP) | (ids == PAD)
    assert torch.equal(found.ids[kept], ids[kept])
    first, second = found.ids[:, 4], found.ids[:, 20]
    moved = first != ids[:, 4]
    assert 0.2 < (first == second)[moved].float().mean() < 0.9  # exchanged on both sides in some pairs, not in others


@pytest.mark.parametrize(("layers", "error"), [(torch.float32, 1e-5), (torch.bfloat16, 1e-2)])
def test_what_has_no_label_learns_from_the_teacher_alone(
    layers: torch.dtype, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the type of every processor; bfloat16 has a mantissa of eight bits, and logits are off by a hundredth."""
    monkeypatch.setattr(objective, "layers_type", lambda device: layers)
    torch.manual_seed(0)
    earlier = Network(Size(vocabulary=40, hidden=64, layers=1, inner=96, heads=2, positions=32))
    ids = torch.randint(5, 40, (6, 9))
    batch = TrainingBatch(ids, torch.zeros_like(ids), torch.tensor([0, 1, 2, NOT_ENTAILMENT, UNLABELLED, UNLABELLED]))
    logits = torch.randn(6, 3)
    with torch.no_grad():
        known = earlier(ids, batch.segments).softmax(-1)
        soft = -(known * logits.log_softmax(-1)).sum(-1)
        labelled = TrainingBatch(ids[:4], batch.segments[:4], batch.label[:4])
        expected = (4 * Loss(earlier, "cpu")(logits[:4], labelled) + soft[4:].sum()) / 6
        assert torch.allclose(Loss(earlier, "cpu")(logits, batch), expected, atol=error)
    assert torch.isfinite(losses_of(logits, batch.label)).all()


def test_pairs_without_a_label_need_a_judge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"--start": "A", "--data": "B", "--field": "C", "--out": "D"}
    monkeypatch.setattr("sys.argv", ["general", "--replace", *(word for pair in given.items() for word in pair)])
    with pytest.raises(SystemExit):
        recipe.main()
    assert "name it with --keep" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # more processes than a small machine has cores
def test_processes_make_the_same_pools_in_order() -> None:
    def made(number: int) -> list[TrainingBatch]:
        ids = torch.full((2, 3), number)
        return [TrainingBatch(ids, torch.zeros_like(ids), torch.tensor([0, number % 3]))]

    for makers in (0, 3):
        found = [next(made)[0] for made in [pools(made, makers)] for _ in range(7)]
        assert [int(batch.ids[0, 0]) for batch in found] == list(range(7))
        assert [batch.label.tolist() for batch in found] == [[0, number % 3] for number in range(7)]
