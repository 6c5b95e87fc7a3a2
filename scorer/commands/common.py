"""What the commands share: options with one wording, and the settings they make."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ScorerError
from .ending import guarded as guarded
from .show.output import print_json as print_json
from .show.output import say as say
from .show.output import say_once as say_once
from .show.output import tell as tell

if TYPE_CHECKING:
    from ..metric.inputs import ColumnNames
    from ..scoring.scorer import Scorer


class Protocol(StrEnum):
    """Spellings of the metric."""

    paper = "paper"
    nlgi_eval = "nlgi_eval"


class Sides(StrEnum):
    """Sides that are checked."""

    both = "both"
    hallucination = "hallucination"


class Missing(StrEnum):
    """What happens to a triple without a template."""

    backoff = "backoff"
    error = "error"


class Overlong(StrEnum):
    """What happens to a pair longer than the model takes."""

    error = "error"
    truncate = "truncate"


class Precision(StrEnum):
    """Variants of a bundle."""

    auto = "auto"
    fp32 = "fp32"
    fp16 = "fp16"
    int8 = "int8"


def local(given: str) -> Path:
    """The parser of every option and argument that is a path: plain or ``file://``; another URI ends the command.

    It has to look at the text: a ``Path`` made from a URI is a relative path like any other.
    """
    from ..storage.local_paths import local_path

    try:
        return local_path(given)
    except ScorerError as error:
        raise typer.BadParameter(str(error)) from error


TemplatesOption = Annotated[
    str | None,
    typer.Option("--templates", metavar="FILE", help="Template file (JSON). Default: the bundle's, else backoff."),
]
ProtocolOption = Annotated[
    Protocol, typer.Option("--protocol", help="The paper's metric, or what its released code computes.")
]
SidesOption = Annotated[Sides, typer.Option("--checks", help="Check both sides, or only for hallucinations.")]
OptionalOption = Annotated[
    list[str] | None,
    typer.Option("--optional", metavar="P=O", help="A fact that a text need not say, for example eatType=restaurant."),
]
MissingOption = Annotated[
    Missing, typer.Option("--missing-template", help="Put a triple without a template into words by backoff, or stop.")
]
DeviceOption = Annotated[
    str, typer.Option("--device", metavar="auto|cpu|cuda|cuda:N", help="What is named must really start.")
]
PrecisionOption = Annotated[
    Precision, typer.Option("--precision", help="Variant of the model; auto is fp16 on CUDA, int8 on the CPU.")
]
OverlongOption = Annotated[
    Overlong, typer.Option("--overlong", help="A pair longer than the model takes is an error, or is cut and noted.")
]
SentencesOption = Annotated[
    bool, typer.Option("--sentences", help="Check every sentence of a text too; needs the extra sentences.")
]
TextColumnOption = Annotated[str, typer.Option("--text-column", metavar="NAME", help="Column of texts.")]
TriplesColumnOption = Annotated[str, typer.Option("--triples-column", metavar="NAME", help="Column of triples.")]
MrColumnOption = Annotated[
    str | None, typer.Option("--mr-column", metavar="NAME", help="Column of E2E slots to use instead of triples.")
]
KeepOption = Annotated[
    str | None, typer.Option("--keep", metavar="COLUMNS", help="Input columns to keep, by comma. Default: all.")
]
ReuseOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--reuse",
        metavar="OUT0",
        parser=local,
        help="Output of an earlier run: rows found there by row_key, under the same signature, keep their labels. "
        "May be given several times.",
    ),
]
ExactOption = Annotated[
    bool, typer.Option("--exact", help="Run again in fp32 what is too close to call: labels as fp32 gives them.")
]
EMBEDDED_NOTE = "the embedded model knows restaurants (E2E) and nothing else; for other data give --bundle a real one"


def scorer_settings(
    bundle: str,
    templates: str | None,
    protocol: Protocol,
    checks: Sides,
    optional: list[str] | None,
    device: str,
    precision: Precision,
    overlong: Overlong,
    missing_template: Missing = Missing.backoff,
    sentences: bool = False,
    exact: bool = False,
) -> dict[str, Any]:
    """The options that set up a scorer, as a plan records them: absolute paths, plain strings."""
    from ..storage.local_paths import local_path

    settings: dict[str, Any] = {
        "bundle": bundle if bundle == "embedded" else str(local_path(bundle, "--bundle").resolve()),
        "templates": str(local_path(templates, "--templates").resolve()) if templates else None,
        "protocol": protocol.value,
        "checks": checks.value,
        "optional": sorted(optional or []),
        "missing_template": missing_template.value,
        "device": device,
        "precision": precision.value,
        "overlong": overlong.value,
    }
    # Named only where asked for, so that plans and what they are compared with stay as they were.
    return settings | {name: True for name, asked in (("sentences", sentences), ("exact", exact)) if asked}


def column_names(
    text: str,
    triples: str,
    mr: str | None,
    keep: str | None,
    prefix: str = "",
    details: bool = False,
    sentences: bool = False,
) -> ColumnNames:
    """The options that name columns."""
    from ..metric.inputs import ColumnNames

    kept = tuple(name.strip() for name in keep.split(",") if name.strip()) if keep is not None else None
    return ColumnNames(text=text, triples=triples, mr=mr, keep=kept, prefix=prefix, details=details,
                       sentences=sentences)  # fmt: skip


def open_scorer(settings: dict[str, Any], **more: Any) -> Scorer:
    """A :class:`scorer.Scorer` from settings as a plan records them."""
    from ..scoring.scorer import Scorer

    return Scorer(**settings, log=say_once, **more)
