"""Refusing what export does not support, reading the weights and labels of what it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from export.labels import Task, choose_scheme
from scorer.errors import CheckpointError, UsageError
from scorer.inference.bundle import BINARY, NLI, SCORE, Scheme
from tests.export.checkpoints import edit_json, opened


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["GPT2ForSequenceClassification"], "model_type": "gpt2"}, "supports RobertaForSequence"),
        ({"model_type": "bert"}, "nothing else"),
        ({"architectures": ["RobertaModel"]}, "an encoder without a head"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({"num_attention_heads": 5}, "cannot be shared by 5 heads"),
        ({"vocab_size": 40}, "has the id 699, but config.json says vocab_size 40"),
        ({"pad_token_id": 0}, "pads with id 1, but config.json says pad_token_id 0"),
        ({"max_position_embeddings": 6}, "only 4 tokens"),
    ],
)
def test_configs_that_are_refused(copy: Path, changes: dict[str, Any], message: str) -> None:
    edit_json(copy / "config.json", **changes)
    with pytest.raises(CheckpointError, match=message):
        opened(copy)


def rewrite(folder: Path, change: Any) -> None:
    path = folder / "model.safetensors"
    state = {key: value.clone() for key, value in load_file(path).items()}
    change(state)
    save_file(state, path)


def test_old_names_unused_heads_and_half_precision_are_read(copy: Path) -> None:
    def change(state: dict[str, torch.Tensor]) -> None:
        for key in list(state):
            old = key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            state[old] = state.pop(key).half()
        state["roberta.pooler.dense.weight"] = torch.zeros(32, 32)
        state["roberta.embeddings.position_ids"] = torch.arange(122)[None]

    rewrite(copy, change)
    model = opened(copy).load()
    assert {value.dtype for value in model.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.pop("classifier.out_proj.weight"), r"lack classifier\.out_proj\.weight"),
        (lambda s: s.update(adapter=torch.zeros(1)), "unknown to this architecture, adapter"),
        (lambda s: s.update({"classifier.dense.bias": torch.zeros(7)}), "do not fit config.json"),
        (lambda s: s["classifier.dense.bias"].fill_(float("nan")), "holds NaN or infinity"),
    ],
)
def test_weights_that_are_refused(copy: Path, change: Any, message: str) -> None:
    rewrite(copy, change)
    with pytest.raises(CheckpointError, match=message):
        opened(copy).load()


MNLI = ("contradiction", "neutral", "entailment")


def scheme(id2label: object, task: Task = Task(), **config: Any) -> Scheme:  # noqa: B008 - a frozen value
    return choose_scheme({"id2label": id2label, **config}, task, "config.json", lambda _: None)


@pytest.mark.parametrize(
    "id2label",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "contradiction", "1": "neutral", "2": "neutral"},
        {"1": "contradiction", "2": "neutral", "3": "entailment"},
        None,
    ],
)
def test_unclear_labels_are_refused_unless_the_user_says(id2label: object) -> None:
    with pytest.raises(CheckpointError, match=r"id2label is .*--labels contradiction,neutral,entailment"):
        scheme(id2label, num_labels=3)
    assert scheme(id2label, Task(["Entailment", "neutral", "CONTRADICTION"]), num_labels=3).labels == MNLI[::-1]


TWO = {"0": "LABEL_0", "1": "LABEL_1"}
UNNAMED = ("label_0", "label_1")
NAMED = ("entailment", "not_entailment")
VERDICTS = ("not supported", "supported")


@pytest.mark.parametrize(
    ("id2label", "task", "expected"),
    [
        ({"0": "entailment", "1": "neutral", "2": "contradiction"}, Task(), Scheme(NLI, MNLI[::-1])),
        ({"1": " neutral ", "2": "Entailment", "0": "contradiction"}, Task(), Scheme(NLI, MNLI)),
        (dict(zip("01", NAMED, strict=True)), Task(), Scheme(BINARY, NAMED, "entailment")),
        ({"0": "Not Supported", "1": "Supported"}, Task(), Scheme(BINARY, VERDICTS, "supported")),
        (TWO, Task(scheme="binary", supported="label_0", threshold=0.7), Scheme(BINARY, UNNAMED, "label_0", 0.7)),
        (TWO, Task(["no", "yes"], supported="yes"), Scheme(BINARY, ("no", "yes"), "yes")),
        ({"0": "LABEL_0"}, Task(scheme="score", threshold=0.3), Scheme(SCORE, ("label_0",), None, 0.3)),
        (None, Task(supported="label_1"), Scheme(BINARY, UNNAMED, "label_1")),
    ],
)  # fmt: skip
def test_schemes_from_labels_and_options(id2label: object, task: Task, expected: Scheme) -> None:
    assert scheme(id2label, task) == expected


def test_a_config_without_labels_has_as_many_as_the_weights() -> None:
    """As configs of 2019 are: the three labels are asked for, and not which of two means supported."""
    with pytest.raises(CheckpointError, match=r"id2label is None.*--labels contradiction,neutral,entailment"):
        choose_scheme({}, Task(), "config.json", lambda _: None, 3)
    assert choose_scheme({}, Task(MNLI), "config.json", lambda _: None, 3) == Scheme(NLI, MNLI)


@pytest.mark.parametrize(
    ("id2label", "task", "error", "message"),
    [
        (TWO, Task(), CheckpointError, "nothing says which means .* --supported LABEL_1"),
        (
            TWO,
            Task(supported="LABEL_2"),
            UsageError,
            "--supported is 'LABEL_2'; the labels are label_0, label_1",
        ),
        ({"0": "LABEL_0"}, Task(), CheckpointError, "one logit.*--scheme score"),
        (TWO, Task(supported="LABEL_1", threshold=1.5), UsageError, "--threshold is 1.5"),
        (
            dict(zip("012", MNLI, strict=True)),
            Task(threshold=0.5),
            UsageError,
            "one or two logits; remove them",
        ),
    ],
)
def test_schemes_that_are_not_guessed(id2label: object, task: Task, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        scheme(id2label, task)
