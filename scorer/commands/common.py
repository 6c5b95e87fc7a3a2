"""Options that several commands share, and the settings made from them."""

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
    """Protocols of the metric."""

    paper = "paper"
    nlgi_eval = "nlgi_eval"


class Sides(StrEnum):
    """Sides that are checked."""

    both = "both"
    hallucination = "hallucination"


class Missing(StrEnum):
    """How a triple without a template is handled."""

    backoff = "backoff"
    error = "error"


class Overlong(StrEnum):
    """How a pair longer than the model's maximum is handled."""

    error = "error"
    truncate = "truncate"


class Precision(StrEnum):
    """Variants of a bundle."""

    auto = "auto"
    fp32 = "fp32"
    fp16 = "fp16"
    int8 = "int8"


def local(given: str) -> Path:
    """Parse an option or argument that is a path: plain or ``file://``.

    It parses the text, because a ``Path`` made from a URI would be an ordinary relative path.

    Raises:
        typer.BadParameter: any other URI.
    """
    from ..storage.local_paths import local_path

    try:
        return local_path(given)
    except ScorerError as error:
        raise typer.BadParameter(str(error)) from error


TemplatesOption = Annotated[
    str | None,
    typer.Option(
        "--templates",
        metavar="FILE",
        help="Template file (JSON); exits 2 if it is invalid. Default: the bundle's templates, otherwise backoff.",
    ),
]
ProtocolOption = Annotated[
    Protocol, typer.Option("--protocol", help="Metric as in the paper, or as its released code computes it.")
]
SidesOption = Annotated[Sides, typer.Option("--checks", help="Check both sides, or hallucinations only.")]
OptionalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--optional", metavar="P=O", help="Fact that a text may omit, for example eatType=restaurant. Repeatable."
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option("--missing-template", help="Use the backoff template for a triple without a template, or exit 2."),
]
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="auto|cpu|cuda|cuda:N",
        help="Device to use; exits 2 if a named device cannot start. auto: CUDA if it starts, otherwise the CPU.",
    ),
]
PrecisionOption = Annotated[
    Precision,
    typer.Option(
        "--precision", help="Variant of the model; exits 2 if the bundle lacks it. auto: fp16 on CUDA, int8 on the CPU."
    ),
]
OverlongOption = Annotated[
    Overlong,
    typer.Option(
        "--overlong",
        help="Report a row whose text pair exceeds the model's maximum length as an error, or truncate and add a note.",
    ),
]
SentencesOption = Annotated[
    bool,
    typer.Option("--sentences", help="Also check every sentence of a text; exits 2 without the extra `sentences`."),
]
TextColumnOption = Annotated[
    str, typer.Option("--text-column", metavar="NAME", help="Column of texts; a file without it fails.")
]
TriplesColumnOption = Annotated[
    str, typer.Option("--triples-column", metavar="NAME", help="Column of triples; a file without it fails.")
]
MrColumnOption = Annotated[
    str | None, typer.Option("--mr-column", metavar="NAME", help="Column of E2E slots, used instead of triples.")
]
KeepOption = Annotated[
    str | None, typer.Option("--keep", metavar="COLUMNS", help="Comma-separated input columns to keep. Default: all.")
]
ReuseOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--reuse",
        metavar="OUT0",
        parser=local,
        help="Output of an earlier run. Rows with the same row_key keep their labels if the signatures are equal; "
        "otherwise they are scored. Repeatable.",
    ),
]
ExactOption = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="Recompute undecided pairs in fp32, so that labels are those of fp32; exits 2 if the bundle lacks fp32.",
    ),
]
EMBEDDED_NOTE = (
    "the embedded model knows restaurants (E2E) and nothing else; for other data pass a real bundle with --bundle"
)


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
    """The options that configure a scorer, as a plan records them: absolute paths, plain strings."""
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
    # Recorded only where set, so that the plans of earlier versions still compare equal.
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
    """The options that name columns; ``keep`` is a comma-separated list."""
    from ..metric.inputs import ColumnNames

    kept = tuple(name.strip() for name in keep.split(",") if name.strip()) if keep is not None else None
    return ColumnNames(text=text, triples=triples, mr=mr, keep=kept, prefix=prefix, details=details,
                       sentences=sentences)  # fmt: skip


def open_scorer(settings: dict[str, Any], **more: Any) -> Scorer:
    """A :class:`scorer.Scorer` from settings as a plan records them."""
    from ..scoring.scorer import Scorer

    return Scorer(**settings, log=say_once, **more)
