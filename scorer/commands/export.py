"""``scorer export``: a checkpoint becomes a bundle. The one door to the ``export`` package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import MissingDependencyError
from .common import guarded, local, say, tell


@guarded
def export_command(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="Hub id or local folder of an NLI model.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT_DIR", parser=local, help="Folder for the bundle; must not exist yet.")
    ],
    precision: Annotated[
        str, typer.Option("--precision", metavar="LIST", help="Variants to make, by comma.")
    ] = "fp32,fp16,int8",
    revision: Annotated[str | None, typer.Option("--revision", help="Revision of a hub checkpoint; pinned.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", metavar="LIST", help="Labels in the order of the logits, where the checkpoint says LABEL_0."
        ),
    ] = None,
    templates: Annotated[
        Path | None,
        typer.Option("--templates", metavar="FILE", parser=local, help="Template file to put into the bundle."),
    ] = None,
    probes: Annotated[
        Path | None,
        typer.Option(
            "--probes", metavar="FILE", parser=local, help="Parquet of premise, hypothesis to verify with as well."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name in the signature. Default: the checkpoint's.")
    ] = None,
    random_init: Annotated[
        bool,
        typer.Option(
            "--random-init", help="Random weights in the shape that CHECKPOINT names (roberta-large); for benchmarks."
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of --random-init.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Keep a variant that changes over 1 % of the labels.")] = False,
) -> None:
    """Turn a checkpoint into a verified bundle: fused ONNX in several precisions, with probes and hashes."""
    try:
        from export import export_bundle
    except ImportError as error:
        raise MissingDependencyError(
            f"export needs more than scoring does ({error}); install it with: pip install 'd2t-scorer[export,cpu]'"
        ) from error
    path = export_bundle(
        checkpoint,
        out,
        precisions=_split(precision),
        revision=revision,
        labels=_split(labels) if labels else None,
        random_init=random_init,
        seed=seed,
        templates=templates,
        probes=probes,
        name=name,
        force=force,
        log=say,
    )
    tell(str(path))


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]
