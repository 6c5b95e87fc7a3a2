"""D2T-Eval (Kasner et al., 2025, Large Language Models as Span Annotators): outputs of four models on three domains.

Read is the root of the repository (``inputs/d2t-eval/DOMAIN/test.json``, ``outputs/d2t-eval/MODEL/*.jsonl``,
``annotations/human/d2t-eval/test``, ``annotations/model/d2t-eval/test/MODEL``), or a Parquet file (:mod:`.annotated`)
with a column ``spans_MODEL`` for each annotating model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from .annotated import UNREADABLE, Collection, Key, Output, read_annotations, read_json
from .lines import display, read_bytes
from .problems import Problems

_SPLIT = "test"
_JUDGE = "spans_"


def _read(path: Path, problems: Problems) -> list[Output]:
    inputs: dict[tuple[str, int], str] = {}
    for file in sorted((path / "inputs" / "d2t-eval").glob(f"*/{_SPLIT}.json")):
        content = read_json(file)
        examples = content.get("forecasts") if isinstance(content, dict) else content
        if not isinstance(examples, list):
            raise InputError(f"{display(file)} has no list of inputs; it is not an input file of D2T-Eval")
        for number, example in enumerate(examples):
            inputs[_domain(file.parent.name), number] = json.dumps(example, ensure_ascii=False)
    outputs: dict[Key, Output] = {}
    for file in sorted((path / "outputs" / "d2t-eval").rglob(f"*-{_SPLIT}.jsonl")):
        for number, line in enumerate(read_bytes(file).decode("utf-8", "replace").splitlines(), 1):
            try:
                found = json.loads(line)
                key = _output(found)
                outputs[key] = Output(*key, inputs[key[0], key[2]], str(found["output"]))
            except UNREADABLE as error:
                problems.add(display(file.name), number, f"an output that cannot be read ({type(error).__name__})")
    if not outputs:
        raise InputError(
            f"{display(path)} has no outputs/d2t-eval/**/*-{_SPLIT}.jsonl; give {D2T_EVAL.folder}, which has them"
        )
    people = path / "annotations" / "human" / "d2t-eval" / _SPLIT / "annotations.jsonl"
    for output, spans in read_annotations(people, D2T_EVAL, outputs, _key, problems) if people.is_file() else ():
        output.human.append(spans)
    for file in sorted((path / "annotations" / "model" / "d2t-eval" / _SPLIT).glob("*/annotations.jsonl")):
        for output, spans in read_annotations(file, D2T_EVAL, outputs, _key, problems):
            output.judges[file.parent.name.replace("-", "_")] = spans
    return [output for output in outputs.values() if output.human or output.judges]


def _key(line: Any) -> Key | None:
    if line["split"] != _SPLIT:  # the file of the test has the texts that all people annotated, too
        return None
    return _output(line)


def _output(line: Any) -> Key:
    # Some files write llama3.3, others llama3-3.
    return _domain(line["dataset"]), line["setup_id"].replace(".", "-"), int(line["example_idx"])


def _domain(dataset: str) -> str:
    return dataset.removeprefix("d2t-")


def _judge_columns(names: Sequence[str]) -> dict[str, str]:
    return {name.removeprefix(_JUDGE): name for name in names if name.startswith(_JUDGE)}


D2T_EVAL = Collection(
    name="d2teval",
    categories=("Contradictory", "Not checkable", "Misleading", "Incoherent", "Repetitive", "Other"),
    domains=("openweather", "gsmarena", "football"),
    folder="the root of llm-span-annotators/span-annotation",
    read=_read,
    judge_columns=_judge_columns,
    split=_SPLIT,
)
