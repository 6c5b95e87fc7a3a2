"""``scorer export``: turn a checkpoint into a bundle. The only module that imports the ``export`` package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import MissingDependencyError, UsageError, install_hint
from ..system.arguments import option
from .console import print_line, say
from .options import local, split_names


def export_command(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="Hub id or local folder of an NLI model.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT_DIR", parser=local, help="Folder for the bundle; exits 2 if it exists.")
    ],
    *,
    precision: str = option("Comma-separated variants to export.", "LIST", "fp32,fp16,int8"),
    revision: str | None = option(
        "Revision of a hub checkpoint; exits 2 for a folder. Default: the newest.", default=None
    ),
    task: Literal["pairs", "factspotter"] = option("Task of the model: NLI pairs or FactSpotter.", default="pairs"),
    labels: str | None = option(
        "Comma-separated labels in the order of the logits, if the checkpoint has no names for them.", "LIST", None
    ),
    scheme: str | None = option("Meaning of the logits: nli, binary or score. Default: from the labels.", "NAME", None),
    supported: str | None = option("The one of two labels that means supported.", "LABEL", None),
    threshold: float | None = option(
        "With one or two logits: lowest P(entailment) that passes. Default: 0.5.", "P", None
    ),
    hypothesis_first: bool = option("For models trained with the hypothesis as the first text.", default=False),
    half_weights: bool = option("Round weights to half precision, stored once for all variants.", default=False),
    templates: Path | None = option("Template file to include in the bundle.", "FILE", None, parser=local),
    name: str | None = option("Name of the model in signatures. Default: the checkpoint's.", default=None),
    languages: str | None = option(
        "Comma-separated languages that the model reads (ISO 639-1). Default: from its card.", "CODES", None
    ),
    force: bool = option(
        "Export despite a variant that changes over 1% of labels, or labels that plain pairs contradict.", default=False
    ),
) -> None:
    """Turn a checkpoint into a verified bundle.

    A bundle contains fused ONNX models in several precisions, the tokenizer, probes to verify them with, and hashes.
    """
    try:
        from export import FACTSPOTTER, Task, export_bundle
    except ImportError as error:
        raise MissingDependencyError(
            f"export needs further packages ({error}); {install_hint('export', 'cpu')}"
        ) from error
    names = list(split_names(labels)) if labels else None
    description = Task(names, scheme, supported, threshold, hypothesis_first)
    if task == "factspotter":
        if scheme not in (None, FACTSPOTTER.scheme) or templates is not None:
            raise UsageError("--task factspotter means --scheme binary and no --templates; remove the options")
        description = replace(FACTSPOTTER, labels=names, supported=supported, threshold=threshold)
    path = export_bundle(
        checkpoint,
        out,
        precisions=list(split_names(precision)),
        revision=revision,
        task=description,
        half_weights=half_weights,
        templates=templates,
        name=name,
        languages=None if languages is None else list(split_names(languages)),
        force=force,
        log=say,
    )
    print_line(str(path))
