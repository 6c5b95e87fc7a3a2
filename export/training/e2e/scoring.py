"""The checkpoint on E2E rows by torch: entailment probabilities of every check, without the rest of the scorer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from export.training.e2e.facts import SLOTS
from export.training.e2e.model import PAD, Network, Size, from_transformers
from scorer.metric.templates import Templates
from scorer.metric.triples import Triple


class Checkpoint:
    """A saved checkpoint, ready to score pairs in float32 on a CPU."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        size = Size(
            config["vocab_size"], config["hidden_size"], config["num_hidden_layers"],
            config["intermediate_size"], config["num_attention_heads"],
        )  # fmt: skip
        self.network = Network(size, len(SLOTS), 5)
        self.network.load_state_dict(from_transformers(load_file(folder / "model.safetensors")), strict=False)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.encode_special_tokens = True

    @torch.no_grad()
    def logits(self, pairs: list[tuple[str, str]]) -> np.ndarray:
        """*Shape:* (pairs, 3) float32, columns contradiction, neutral, entailment. Distinct pairs are run once."""
        distinct = sorted(set(pairs))
        texts = sorted({text for pair in distinct for text in pair})
        encoded = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        ids = {text: e.ids for text, e in zip(texts, encoded, strict=True)}
        rows = [[0, *ids[a], 2, 2, *ids[b], 2][:512] for a, b in distinct]
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        found = np.zeros((len(rows), 3), np.float32)
        start = 0
        while start < len(order):
            longest = -(-len(rows[order[min(start + 255, len(order) - 1)]]) // 8) * 8
            chunk = order[start : start + max(1, min(256, 16384 // longest))]
            start += len(chunk)
            length = -(-max(len(rows[i]) for i in chunk) // 8) * 8
            batch = torch.tensor([rows[i] + [PAD] * (length - len(rows[i])) for i in chunk])
            found[chunk] = self.network(batch)[0].numpy()
        place = {pair: i for i, pair in enumerate(distinct)}
        return found[[place[pair] for pair in pairs]]


def score_rows(checkpoint: Checkpoint, rows: list[dict[str, Any]], templates: Templates) -> list[dict[str, Any]]:
    """Per row the logits of its checks: `omission` (facts, 3) and `hallucination` (3,)."""
    pairs: list[tuple[str, str]] = []
    counts = []
    for row in rows:
        facts = [templates.fill(Triple(t["subject"], t["predicate"], t["object"])).text for t in row["triples"]]
        pairs += [(row["text"], fact) for fact in facts]
        pairs.append((" ".join(facts), row["text"]))
        counts.append(len(facts))
    logits = checkpoint.logits(pairs)
    scored, start = [], 0
    for count in counts:
        scored.append({"omission": logits[start : start + count], "hallucination": logits[start + count]})
        start += count + 1
    return scored
