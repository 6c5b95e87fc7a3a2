"""The networks of both recipes, as transformers has them: BERT, and MPNet for the teacher."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from training.batches import EncodedText, padded

NLI_LABELS = ("contradiction", "neutral", "entailment")
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
"""A run of about one pass over its data needs none; the teacher, which makes more, has it."""


def label_names(labels: Sequence[str]) -> dict[str, Any]:
    """The labels as a configuration of transformers has them."""
    return {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}


def load(folder: Path, **settings: Any) -> PreTrainedModel:
    """A checkpoint in float32, without dropout until it is trained.

    Args:
        settings: of the configuration, in place of those of the checkpoint.

    Raises:
        OSError, ValueError, KeyError, RuntimeError, SafetensorError: a file is missing or damaged.
    """
    return AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, use_safetensors=True, local_files_only=True, **settings
    )


def save(network: PreTrainedModel, folder: Path) -> None:
    """Write a checkpoint with float16 weights."""
    copy.deepcopy(network).half().save_pretrained(folder)


def classify(network: PreTrainedModel, ids: Tensor, segments: Tensor) -> Tensor:
    """Logits; on a GPU the products are computed in bfloat16.

    *Shape:* ids and segments (batch, length) int64, padded to one length → (batch, labels) float32.
    """
    more = {"token_type_ids": segments}
    if network.config.model_type == "mpnet":  # counts positions from 2, and would know padding by another id
        more = {"position_ids": torch.arange(2, ids.shape[1] + 2, device=ids.device)[None]}
    mask = (ids != network.config.pad_token_id).long()
    with torch.autocast(ids.device.type, torch.bfloat16, enabled=ids.is_cuda):
        logits: Tensor = network(ids, attention_mask=mask, **more).logits
    return logits.float()


@torch.no_grad()
def logits(network: PreTrainedModel, rows: Sequence[EncodedText]) -> Tensor:
    """*Shape:* (rows, labels) float32. Rows are cut at the longest length."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i][0]))
    found, longest = torch.zeros(len(rows), network.config.num_labels), network.config.max_position_embeddings
    for start in range(0, len(order), 64):
        chunk = order[start : start + 64]
        chosen = [(rows[i][0][:longest], rows[i][1]) for i in chunk]
        length = max(len(ids) for ids, _ in chosen)
        found[chunk] = classify(network, *padded(chosen, length, network.config.pad_token_id))
    return found
