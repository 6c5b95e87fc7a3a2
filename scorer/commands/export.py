"""``scorer export``: turn a checkpoint into a bundle. The only module that imports the ``export`` package."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import MissingDependencyError, UsageError, install_hint
from .common import local, say, tell


class Task(StrEnum):
    """What a checkpoint was trained for."""

    pairs = "pairs"
    factspotter = "factspotter"


def export_command(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="Hub id or local folder of an NLI model.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT_DIR", parser=local, help="Folder for the bundle; exits 2 if it exists.")
    ],
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            metavar="LIST",
            help="Comma-separated variants to export.",
        ),
    ] = "fp32,fp16,int8",
    revision: Annotated[
        str | None,
        typer.Option(
            "--revision",
            help="Revision of a hub checkpoint; exits 2 for a folder. Default: the newest.",
        ),
    ] = None,
    task: Annotated[
        Task,
        typer.Option(
            "--task",
            help="Task of the model: NLI pairs or FactSpotter.",
        ),
    ] = Task.pairs,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="LIST",
            help="Comma-separated labels in the order of the logits, if the checkpoint has no names for them.",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            "--scheme", metavar="NAME", help="Meaning of the logits: nli, binary or score. Default: from the labels."
        ),
    ] = None,
    supported: Annotated[
        str | None,
        typer.Option("--supported", metavar="LABEL", help="The one of two labels that means supported."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", metavar="P", help="With one or two logits: lowest P(entailment) that passes. Default: 0.5."
        ),
    ] = None,
    hypothesis_first: Annotated[
        bool, typer.Option("--hypothesis-first", help="For models trained with the hypothesis as the first text.")
    ] = False,
    half_weights: Annotated[
        bool,
        typer.Option("--half-weights", help="Round weights to half precision, stored once for all variants."),
    ] = False,
    templates: Annotated[
        Path | None,
        typer.Option("--templates", metavar="FILE", parser=local, help="Template file to include in the bundle."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the model in signatures. Default: the checkpoint's.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Export despite a variant that changes over 1% of labels, or labels that plain pairs contradict.",
        ),
    ] = False,
) -> None:
    """Turn a checkpoint into a verified bundle.

    A bundle contains fused ONNX models in several precisions, the tokenizer, probes to verify them with, and hashes.
    """
    try:
        from export import FACTSPOTTER, Answers, export_bundle
    except ImportError as error:
        raise MissingDependencyError(
            f"export needs further packages ({error}); {install_hint('export', 'cpu')}"
        ) from error
    names = _split(labels) if labels else None
    answers = Answers(names, scheme, supported, threshold, hypothesis_first)
    if task is Task.factspotter:
        if scheme not in (None, FACTSPOTTER.scheme) or templates is not None:
            raise UsageError("--task factspotter means --scheme binary and no --templates; remove the options")
        answers = replace(FACTSPOTTER, labels=names, supported=supported, threshold=threshold)
    path = export_bundle(
        checkpoint,
        out,
        precisions=_split(precision),
        revision=revision,
        answers=answers,
        half_weights=half_weights,
        templates=templates,
        name=name,
        force=force,
        log=say,
    )
    tell(str(path))


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]
