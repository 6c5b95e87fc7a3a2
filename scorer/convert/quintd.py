"""Quintd-1 (Kasner & Dušek, ACL 2024): outputs of four open language models on five domains, with error spans.

Read is the repository's folder ``data/quintd-1`` (``outputs/SPLIT/DOMAIN/SETUP/*.json``, ``annotations/human/*.jsonl``,
``annotations/human_corr``, ``annotations/gpt-4``), or a Parquet file (:mod:`.annotated`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from .annotated import UNREADABLE, Collection, Key, Output, read_annotations, read_json
from .lines import display
from .problems import Problems

_BEFORE, _AFTER = "Based on the given data:\n```\n", "\n```\n"
_SPLIT = "test"
"""All annotated outputs are in it."""
_JUDGE = "gpt4"


def _read(path: Path, problems: Problems) -> list[Output]:
    files = sorted((path / "outputs" / _SPLIT).rglob("*.json"))
    if not files:
        raise InputError(
            f"{display(path)} has no outputs/{_SPLIT}/**/*.json; give the folder {QUINTD.folder} of the repository"
        )
    outputs: dict[Key, Output] = {}
    for file in files:
        content = read_json(file)
        generated = content.get("generated") if isinstance(content, dict) else None
        if not isinstance(generated, list):
            raise InputError(f"{display(file)} has no list `generated`; it is not an output file of Quintd")
        for number, one in enumerate(generated):
            try:
                data = one["in"].partition(_BEFORE)[2].partition(_AFTER)[0] or one["in"]
                key = str(content["dataset"]), str(content["model"]), number
                outputs.setdefault(key, Output(*key, data, str(one["out"])))
            except UNREADABLE as error:
                problems.add(display(file.name), number, f"an output that cannot be read ({error})")
    for folder in ("human", "human_corr", "gpt-4"):
        for file in sorted((path / "annotations" / folder).glob("*.jsonl")):
            for output, spans in read_annotations(file, QUINTD, outputs, _key, problems):
                if folder == "gpt-4":
                    output.judges[_JUDGE] = spans
                elif spans not in output.human:  # one annotation is in the repository twice
                    output.human.append(spans)
    # Outputs that nobody annotated are of no use here: a second run, say.
    return [output for output in outputs.values() if output.human or output.judges]


def _key(line: Any) -> Key:
    return line["dataset"], line["model"], int(line["table_idx"])


def _judge_columns(names: Sequence[str]) -> dict[str, str]:
    return {_JUDGE: "gpt4_spans"} if "gpt4_spans" in names else {}


QUINTD = Collection(
    name="quintd",
    categories=("Incorrect", "Not checkable", "Misleading", "Other"),
    domains=("openweather", "gsmarena", "ice_hockey", "owid", "wikidata"),
    folder="data/quintd-1",
    read=_read,
    judge_columns=_judge_columns,
)
