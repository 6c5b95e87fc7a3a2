"""Options that commands share: how typer gets them, the files among them, and what scorers and runs are set up with."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

from ..errors import ScorerError, UsageError
from ..inference import BUILTIN_BUNDLES, Overlong, Precision, folder_of
from ..metric.options import ColumnNames, MissingTemplate, Protocol, Sides
from ..scoring.settings import Settings
from ..storage.location import Location, StoreUri, local_path, parse_location
from ..system.arguments import option
from ..system.files import Format
from .console import say, say_once

if TYPE_CHECKING:
    from ..scoring.scorer import Scorer
    from ..storage.plan import Budgets

READ = ("IN", "IN...", "[NAME=]FILE", "FILE", "B", "BUNDLE", "CHECKPOINT")
"""Placeholders in the help of texts that are paths to read."""


def takes_fields(command: Callable[..., None]) -> Callable[..., None]:
    """A command in which each parameter that is a data class is replaced by the options that its fields declare.

    typer sees one parameter for each field made by :func:`scorer.system.arguments.option`; the command is called with
    the object that their values make.
    """
    taken: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(one.annotation, type) and is_dataclass(one.annotation):
            taken[one.name] = one.annotation
            hints = get_type_hints(one.annotation)
            parameters += [_parameter(each, hints[each.name]) for each in fields(one.annotation) if each.metadata]
        else:
            parameters.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, kind in taken.items():
            values = {each.name: given.pop(each.name) for each in fields(kind) if each.metadata}
            known = {key: value for key, value in values.items() if value is not None}
            given[name] = kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in known.items()})
        command(**given)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _parameter(one: Field[Any], hint: Any) -> inspect.Parameter:
    """The parameter of a field. One that is a tuple of any length is repeatable."""
    more, default = dict(one.metadata), one.default
    name = more.pop("name", f"--{one.name.replace('_', '-')}")
    if more.pop("variable", False):
        more["envvar"] = f"D2T_{name.removeprefix('--').upper().replace('-', '_')}"
    if get_origin(hint) is tuple and ... in get_args(hint):
        kind = Any if "parser" in more else get_args(hint)[0]
        hint, default = list[kind] | None, default or None  # type: ignore[valid-type]
    elif "parser" in more:
        hint = Any  # typer takes no unions
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[hint, typer.Option(name, **more)],
    )


def local(given: str) -> Path:
    """Parse an option or argument that is a path: plain or ``file://``.

    It parses the text, because a ``Path`` made from a URI would be an ordinary relative path.

    Raises:
        typer.BadParameter: any other URI.
    """
    try:
        return local_path(given)
    except ScorerError as error:
        raise typer.BadParameter(str(error)) from error


def location(given: str) -> Path | StoreUri:
    """Parse an argument that is an output: a local path, or a URI of an object store.

    Raises:
        typer.BadParameter: a URI of another kind.
    """
    from ..storage.object_store import client

    try:
        found = parse_location(given)
        if isinstance(found, StoreUri):
            client()
        return found
    except ScorerError as error:
        raise typer.BadParameter(str(error)) from error


def written(given: str) -> Path:
    """Parse an option that is a file to write, in any format but Parquet; see :func:`check_written`."""
    return local(given)


def written_parquet(given: str) -> Path:
    """Parse an option that is a Parquet file to write; see :func:`check_written`."""
    return local(given)


class Declared(NamedTuple):
    """A parameter of a command as typer is told of it.

    ``option``: how it is written; empty for an argument. ``is_read``: it names something that the command reads.
    """

    option: str
    parser: Callable[[str], Any] | None
    is_read: bool


def declared(parameter: inspect.Parameter) -> Declared | None:
    """The option or argument that a parameter of a command is; ``None`` for one that is neither."""
    infos = getattr(parameter.annotation, "__metadata__", ())
    info = next((one for one in infos if hasattr(one, "param_decls")), None)
    if info is None:
        return None
    # typer takes the first name for a default until it reads the whole signature.
    names = (info.default, *(info.param_decls or ()), f"--{parameter.name.replace('_', '-')}")
    option = next(one for one in names if isinstance(one, str) and one.startswith("--"))
    is_read = info.parser in (local, location) or (info.parser is None and info.metavar in READ)
    return Declared(option if hasattr(info, "prompt") else "", info.parser, is_read)


def check_written(command: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse a file to write that is an input of the command, a run's own, named twice, or otherwise not to be written.

    Args:
        command: its parameters tell what is read and what is written. given: their values by name.

    Raises:
        UsageError, OutputError: see :func:`..storage.user_files.check_user_file`.
    """
    files: dict[str, tuple[Path, bool]] = {}
    inputs: list[str] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        info, value = declared(parameter), given.get(name)
        if info is None or value is None:
            continue
        if info.parser in (written, written_parquet):
            files[info.option] = value, info.parser is written_parquet
        elif info.is_read:
            inputs += map(str, value if isinstance(value, list | tuple) else [value])
    if not files:
        return
    from ..storage.user_files import check_user_file

    known: dict[str, str] = {}
    for what, (path, is_parquet) in files.items():
        check_user_file(path, what, inputs=inputs, form=given.get("form") or "auto", is_parquet=is_parquet)
        other = known.setdefault(os.path.realpath(path), what)
        if other != what and (path.is_file() or not path.exists()):
            raise UsageError(f"{other} and {what} are both {path}; name two files")


InputsArgument = Annotated[
    list[str],
    typer.Argument(metavar="IN", help="Input files, folders, globs or URIs; exits 2 if there are none."),
]
OutputArgument = Annotated[
    list[Any],  # each a Path or a StoreUri: typer takes no unions
    typer.Argument(
        metavar="OUT",
        parser=location,
        help="Output of `scorer run`, or its parts, local or in a store; exits 2 if there is none.",
    ),
]
ScoredArgument = Annotated[
    list[Any],
    typer.Argument(
        metavar="OUT",
        parser=location,
        help="Output of `scorer run`, or its parts, local or in a store, or one scored file; exits 2 if it is not "
        "finished or a part is missing.",
    ),
]
PartialOption = Annotated[
    bool,
    typer.Option("--allow-partial", help="Accept an output that is not finished, or of which parts are missing."),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMNS",
        help="Columns to group by; comma-separated columns form one grouping. Repeatable. Default: system, if it "
        "exists.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def parse_by(given: list[str] | None) -> tuple[tuple[str, ...], ...]:
    """The groupings of ``--by``: a tuple of columns of each time it was given."""
    return tuple(tuple(dict.fromkeys(split_names(one))) for one in given or ())


def split_names(given: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in given.split(",") if name.strip())


def _shipped(incomplete: str) -> list[str]:
    """The words that a shell may complete; where there is none it completes paths."""
    return [word for word in BUILTIN_BUNDLES if incomplete and word.startswith(incomplete)]


BUNDLE: dict[str, Any] = {
    "help": "Bundle folder, or `embedded`.",
    "metavar": "B",
    "variable": True,
    "autocompletion": _shipped,
}
DEVICE: dict[str, Any] = {
    "help": "Device; exits 2 if a named device cannot start. auto: CUDA if it starts, otherwise the CPU.",
    "metavar": "auto|cpu|cuda|cuda:N",
    "variable": True,
}
PRECISION: dict[str, Any] = {
    "help": "Model variant; exits 2 if the bundle lacks it. auto: fp16 on CUDA, int8 on the CPU.",
    "variable": True,
}


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Device and variant, for a command that only opens a model."""

    device: str = option(**DEVICE, default="auto")
    precision: Precision = option(**PRECISION, default="auto")


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The fields of :class:`..scoring.settings.Settings`, but for the names of columns."""

    bundle: str = option(**BUNDLE)
    templates: str | None = option(
        "Template file (JSON); exits 2 if invalid. Default: the bundle's templates, otherwise backoff.",
        "FILE",
        None,
        variable=True,
    )
    protocol: Protocol = option(
        "Metric: as in the paper, as in its code, or FactSpotter.", default="paper", variable=True
    )
    checks: Sides = option("Check both sides, or hallucinations only.", default="both", variable=True)
    optional: tuple[str, ...] = option(
        "Fact that a text may omit, such as eatType=restaurant. Repeatable.", "P=O", default=()
    )
    missing_template: MissingTemplate = option(
        "For a triple without a template: use the backoff template, or exit 2.", default="backoff", variable=True
    )
    device: str = option(**DEVICE, default="auto")
    precision: Precision = option(**PRECISION, default="auto")
    device_memory: int = option("GPU memory of each session, in GiB; 0 for no limit.", "GIB", 0, min=0, variable=True)
    overlong: Overlong = option(
        "For text pairs longer than the model's maximum: report an error, or truncate and add a note.",
        default="error",
        variable=True,
    )
    sentences: bool = option("Also check every sentence of a text.", default=False)
    exact: bool = option(
        "Recompute undecided pairs in fp32 to get the labels of fp32; exits 2 if the bundle lacks it.", default=False
    )

    def settings(self, columns: ColumnNames | None = None) -> Settings:
        """The settings, with absolute paths, since a plan is read from elsewhere.

        Raises:
            UsageError: a path that is none, or options that exclude each other.
        """
        given = {one.name: getattr(self, one.name) for one in fields(ModelOptions)}
        given["bundle"] = bundle_argument(self.bundle, "--bundle")
        if self.templates:
            given["templates"] = str(local_path(self.templates, "--templates").resolve())
        return Settings(**given, columns=columns or ColumnNames())


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The fields of :class:`..metric.options.ColumnNames` that a run is told."""

    text_column: str = option("Column of texts; a file without it fails.", "NAME", "text", variable=True)
    triples_column: str | None = option("Column of triples. Default: triples.", "NAME", None, variable=True)
    attributes_column: str | None = option(
        "Column of attributes (struct, map or JSON object), or comma-separated columns, one for each attribute.",
        "NAME",
        None,
        variable=True,
    )
    subject_column: str | None = option(
        "Column or attribute key that names the subject. Default: the key name.", "NAME", None, variable=True
    )
    facts_column: str | None = option(
        "Column of facts as sentences; no templates are used.", "NAME", None, variable=True
    )
    mr_column: str | None = option("Column of E2E slots, used instead of triples.", "NAME", None, variable=True)
    document_column: str | None = option(
        "Column of source texts or lists of passages, whose sentences are the facts; implies --checks hallucination "
        "--sentences.",
        "NAME",
        None,
        variable=True,
    )
    keep: str | None = option("Comma-separated input columns to keep. Default: all.", "COLUMNS", None, variable=True)
    prefix: str = option("Prefix of output columns, where an input column has the same name.", "P", "", variable=True)
    details: bool = option("Add the facts as worded, and the three probabilities of every check.", default=False)

    def columns(self) -> ColumnNames:
        """The names of columns; ``--keep`` with nothing in it keeps none."""
        given = {one.name.removesuffix("_column"): getattr(self, one.name) for one in fields(self)}
        return ColumnNames(**given | {"keep": None if self.keep is None else split_names(self.keep)})


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """The fields of :class:`..run.executors.RunOptions` that ``scorer plan`` takes too."""

    limit: int | None = option("Score only the first N rows.", "N", None, min=1)
    form: Format = option("Format of IN. auto: by suffix; in a folder, Parquet first.", default="auto", name="--format")
    delimiter: str | None = option(
        "Field separator of CSV and TSV files: a character, or the word tab. Default: detected from the header.",
        "C",
        None,
    )
    reuse: tuple[Location, ...] = option(
        "Earlier output. Rows with the same row_key keep its labels if the signatures are equal. Repeatable.",
        "OUT0",
        (),
        parser=location,
    )
    split_rows: int | None = option(
        "Split Parquet files into parts of at most N rows, along row groups; each file becomes a folder.",
        "N",
        None,
        min=1,
    )

    def __post_init__(self) -> None:
        if self.delimiter is None:
            return
        if self.form in ("parquet", "jsonl"):
            raise UsageError(f"--delimiter is for CSV and TSV, and --format is {self.form}; leave one of them out")
        found = "\t" if self.delimiter.lower() in ("tab", "\\t") else self.delimiter
        if len(found) != 1 or found in '"\r\n\0':
            raise UsageError(f"--delimiter {found!r}: give one character, as in --delimiter ';', or the word tab")
        object.__setattr__(self, "delimiter", found)


def bundle_argument(given: str, what: str) -> str:
    """A bundle as a plan records it: a word for a model that ships, or an absolute path.

    Args:
        what: the option or argument, for messages.

    Raises:
        UsageError: a URI of a store, or the name of a checkpoint on the hub.
    """
    if given in BUILTIN_BUNDLES:
        return given
    if not given.lower().startswith("file:"):
        folder_of(given)
    return str(local_path(given, what).resolve())


def tell_of_bundle(settings: Settings) -> None:
    """Say what a user should know of the bundle before its labels, where there is something.

    Raises:
        BundleError: it is not there, or its description cannot be read.
    """
    shipped = BUILTIN_BUNDLES.get(str(settings.bundle))
    if shipped is not None:
        note: str | None = shipped.note
    else:
        from ..inference.bundle import read_manifest

        note = read_manifest(folder_of(settings.bundle))[0].caveat
    if note:
        say(f"note: {note}")
    if shipped is not None and settings.columns.document is not None:
        say("note: the embedded model is not for documents; export a checkpoint that is (docs/checkpoints.md)")


def open_scorer(settings: Settings, budgets: Budgets | None = None) -> Scorer:
    """A scorer as the settings say; budgets, layout and attention are those of an earlier run, if there was one."""
    from ..scoring.scorer import Scorer

    return Scorer(**settings.arguments(), budgets=budgets, log=say_once)
