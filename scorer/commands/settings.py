"""The options that say how a scorer is set up, declared once for all commands that open one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer

from ..inference.choices import BUILTIN_BUNDLES, Overlong, Precision
from ..metric.options import ColumnNames, MissingTemplate, Protocol, Sides
from ..scoring.settings import Settings


def _shipped(incomplete: str) -> list[str]:
    """The words that a shell may complete; where there is none it completes paths."""
    return [word for word in BUILTIN_BUNDLES if incomplete and word.startswith(incomplete)]


def _option(name: str, **more: Any) -> Any:
    """An option that an environment variable of its name can set too."""
    return typer.Option(f"--{name}", envvar=f"D2T_{name.upper().replace('-', '_')}", **more)


def _column(what: str, help: str) -> Any:
    return _option(f"{what}-column", metavar="NAME", help=help)


BundleOption = Annotated[
    str, _option("bundle", metavar="B", autocompletion=_shipped, help="Bundle folder, or `embedded`.")
]
DeviceOption = Annotated[
    str,
    _option(
        "device",
        metavar="auto|cpu|cuda|cuda:N",
        help="Device; exits 2 if a named device cannot start. auto: CUDA if it starts, otherwise the CPU.",
    ),
]
PrecisionOption = Annotated[
    Precision,
    _option("precision", help="Model variant; exits 2 if the bundle lacks it. auto: fp16 on CUDA, int8 on the CPU."),
]
TextColumnOption = Annotated[str, _column("text", "Column of texts; a file without it fails.")]
TriplesColumnOption = Annotated[str | None, _column("triples", "Column of triples. Default: triples.")]
FactsColumnOption = Annotated[str | None, _column("facts", "Column of facts as sentences; no templates are used.")]
AttributesColumnOption = Annotated[
    str | None,
    _column(
        "attributes",
        "Column of attributes (struct, map or JSON object), or comma-separated columns, one for each attribute.",
    ),
]
SubjectColumnOption = Annotated[
    str | None,
    _column("subject", "Column or attribute key that names the subject. Default: the key name."),
]
MrColumnOption = Annotated[str | None, _column("mr", "Column of E2E slots, used instead of triples.")]
DocumentColumnOption = Annotated[
    str | None,
    _column(
        "document",
        "Column of source texts or lists of passages, whose sentences are the facts; implies --checks hallucination "
        "--sentences.",
    ),
]

OPTIONS: dict[str, Any] = {
    "templates": Annotated[
        str | None,
        _option(
            "templates",
            metavar="FILE",
            help="Template file (JSON); exits 2 if invalid. Default: the bundle's templates, otherwise backoff.",
        ),
    ],
    "protocol": Annotated[
        Protocol, _option("protocol", help="Metric: as in the paper, as in its code, or FactSpotter.")
    ],
    "checks": Annotated[Sides, _option("checks", help="Check both sides, or hallucinations only.")],
    "optional": Annotated[
        list[str] | None,
        typer.Option(
            "--optional", metavar="P=O", help="Fact that a text may omit, such as eatType=restaurant. Repeatable."
        ),
    ],
    "missing_template": Annotated[
        MissingTemplate,
        _option("missing-template", help="For a triple without a template: use the backoff template, or exit 2."),
    ],
    "device": DeviceOption,
    "precision": PrecisionOption,
    "device_memory": Annotated[
        int,
        _option("device-memory", metavar="GIB", min=0, help="GPU memory of each session, in GiB; 0 for no limit."),
    ],
    "overlong": Annotated[
        Overlong,
        _option(
            "overlong",
            help="For text pairs longer than the model's maximum: report an error, or truncate and add a note.",
        ),
    ],
    "sentences": Annotated[
        bool,
        typer.Option("--sentences", help="Also check every sentence of a text."),
    ],
    "exact": Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Recompute undecided pairs in fp32 to get the labels of fp32; exits 2 if the bundle lacks it.",
        ),
    ],
}
"""The option of each setting, by the name of the setting; ``bundle`` and the columns apart."""

COLUMN_OPTIONS: dict[str, tuple[str, Any]] = {
    "text": ("text_column", TextColumnOption),
    "triples": ("triples_column", TriplesColumnOption),
    "attributes": ("attributes_column", AttributesColumnOption),
    "subject": ("subject_column", SubjectColumnOption),
    "facts": ("facts_column", FactsColumnOption),
    "mr": ("mr_column", MrColumnOption),
    "document": ("document_column", DocumentColumnOption),
    "keep": (
        "keep",
        Annotated[
            str | None, _option("keep", metavar="COLUMNS", help="Comma-separated input columns to keep. Default: all.")
        ],
    ),
    "prefix": (
        "prefix",
        Annotated[
            str,
            _option(
                "prefix",
                metavar="P",
                help="Prefix of output columns, where an input column has the same name.",
            ),
        ],
    ),
    "details": (
        "details",
        Annotated[
            bool,
            typer.Option("--details", help="Add the facts as worded, and the three probabilities of every check."),
        ],
    ),
}
"""By field of :class:`.ColumnNames`: the parameter of a command, and its option."""


def takes_settings(
    *, bundle: str | None = None, columns: bool = True, without: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Any]:
    """Decorate a command that has a parameter ``settings``: it takes the options of all settings in its place.

    So no two commands differ in the options that a scorer is set up with. The command is called with the
    :class:`.Settings` that they make.

    Args:
        bundle: the default of ``--bundle``; without one the option is required.
        columns: whether the command takes the options that name columns.
        without: fields of :class:`.ColumnNames` that the command has no use for.
    """

    return in_place_of("settings", list(_parameters(bundle, columns, without)), _settings)


def in_place_of(
    name: str, own: list[inspect.Parameter], build: Callable[[dict[str, Any]], Any]
) -> Callable[[Callable[..., None]], Any]:
    """Decorate a command: it takes other parameters in the place of one, which is made from their values.

    Args:
        name: the parameter of the command.
        own: what it takes instead.
        build: makes the parameter's value from theirs, by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        names = [parameter.name for parameter in own]

        def wrapper(**given: Any) -> None:
            made = build({one: given.pop(one) for one in names})
            command(**{name: made}, **given)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            parameters += own if parameter.name == name else [parameter.replace(kind=KEYWORD)]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        wrapper.__name__, wrapper.__doc__ = command.__name__, command.__doc__
        return wrapper

    return decorate


KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _parameters(bundle: str | None, columns: bool, without: Sequence[str]) -> Iterator[inspect.Parameter]:
    default: Any = inspect.Parameter.empty if bundle is None else bundle
    yield inspect.Parameter("bundle", KEYWORD, default=default, annotation=BundleOption)
    for name, option in OPTIONS.items():
        default = None if name == "optional" else getattr(Settings, name)
        yield inspect.Parameter(name, KEYWORD, default=default, annotation=option)
    for field, (name, option) in COLUMN_OPTIONS.items() if columns else ():
        if field not in without:
            yield inspect.Parameter(name, KEYWORD, default=getattr(ColumnNames, field), annotation=option)


def _settings(given: dict[str, Any]) -> Settings:
    """Settings from the values of options: absolute paths, since a plan is read from elsewhere."""
    from ..storage.local_paths import local_path
    from .common import bundle_argument

    named = {field: given.pop(name) for field, (name, _) in COLUMN_OPTIONS.items() if name in given}
    if (keep := named.get("keep")) is not None:
        named["keep"] = tuple(name.strip() for name in keep.split(",") if name.strip())
    given["bundle"] = bundle_argument(given["bundle"], "--bundle")
    templates = given["templates"]
    given["templates"] = str(local_path(templates, "--templates").resolve()) if templates else None
    given["optional"] = given["optional"] or ()
    return Settings(**given, columns=ColumnNames(**named))
