"""Whole rows, Parquet to Parquet, without this program: implementations written from the paper only."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .pytorch import open_model

_ENTAILMENT = 2


def script(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], list[str]]:
    """As the original script does it: row by row, check by check, one pair per call."""
    import torch

    tokenizer, model = open_model(spec)

    def entails(premise: str, hypothesis: str) -> bool:
        inputs = tokenizer(premise, hypothesis, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            return int(torch.softmax(model(**inputs).logits, dim=1).argmax()) == _ENTAILMENT

    def label(facts: list[str], text: str) -> str:
        omitted = [fact for fact in facts if not entails(text, fact)]
        return _name(bool(omitted), not entails(" ".join(facts), text))

    chosen["batch"] = 1
    return _over_rows(spec, lambda rows: [label(facts, text) for facts, text in rows])


def cross_encoder(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], list[str]]:
    """All checks of all rows in one list for a CrossEncoder, which sorts and batches them."""
    import torch
    from sentence_transformers import CrossEncoder

    if spec.get("threads"):
        torch.set_num_threads(spec["threads"])
    model = CrossEncoder(spec["checkpoint"], device=spec.get("device", "cpu"))
    size = spec["options"].get("batch", 32)
    chosen["batch"] = size

    def labels(rows: list[tuple[list[str], str]]) -> list[str]:
        pairs = [pair for facts, text in rows for pair in (*((text, f) for f in facts), (" ".join(facts), text))]
        found = np.asarray(model.predict(pairs, batch_size=size, show_progress_bar=False)).argmax(axis=1) == _ENTAILMENT
        results, start = [], 0
        for facts, _ in rows:
            passed = found[start : start + len(facts) + 1]
            results.append(_name(not passed[:-1].all(), not passed[-1]))
            start += len(facts) + 1
        return results

    return _over_rows(spec, labels)


def _name(omission: bool, hallucination: bool) -> str:
    return "+".join(["omission"] * omission + ["hallucination"] * hallucination) or "OK"


def _over_rows(spec: dict[str, Any], judge: Callable[[list[tuple[list[str], str]]], list[str]]) -> Callable[[], Any]:
    """Read Parquet, verbalise the facts, label, write Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    templates = json.loads(Path(spec["templates"]).read_text()) if spec.get("templates") else {}

    def word(triple: dict[str, str]) -> str:
        template = templates.get(triple["predicate"], "The <predicate> of <subject> is <object>.")
        if isinstance(template, dict):
            template = template[triple["object"]]
        for part, value in triple.items():
            template = template.replace(f"<{part}>", value)
        return template

    def one() -> list[str]:
        table = pq.read_table(spec["rows"])
        rows = [
            ([word(triple) for triple in triples], text)
            for triples, text in zip(table["triples"].to_pylist(), table["text"].to_pylist(), strict=True)
        ]
        labels = judge(rows)
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(table.append_column("fine", pa.array(labels)), Path(folder) / "scored.parquet")
        return labels

    judge([(["Blue Spice is a pub."], "Blue Spice is a pub.")])
    return one
