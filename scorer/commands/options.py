"""Options that commands share: how typer gets them and their values from a file, the files that commands write, and
what scorers and runs are set up with."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, get_args, get_origin, get_type_hints

import typer

from ..errors import ScorerError, UsageError
from ..inference import BUILTIN_BUNDLES, Overlong, Precision
from ..metric import ColumnNames, MissingTemplate, Protocol, Reading, Sides
from ..scoring.settings import Settings
from ..storage.location import Location, StoreUri, local_path, parse_location
from ..system.arguments import option, option_name
from ..system.files import Format, read_small, user_path
from .console import say, say_once

if TYPE_CHECKING:
    from ..scoring.scorer import Scorer
    from ..storage.run_plan import Budgets

READ = ("IN", "IN...", "[NAME=]FILE", "FILE", "B", "BUNDLE", "CHECKPOINT")
"""Placeholders in the help of texts that are paths to read."""
CONFIG_FILE, CONFIG_VARIABLE = "scorer.toml", "D2T_CONFIG"
_LARGEST_CONFIG = 64 << 10
_PATHS_IN_CONFIG = ("bundle", "templates", "gates")


def takes_fields(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer takes it: with a parameter for each option that :func:`..system.arguments.option` declares.

    Those are defaults of its own parameters, and fields of parameters that are data classes; the command is called with
    the objects that their values make.
    """
    classes: dict[str, type[Any]] = {}
    defaults: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        name, kind = parameter.name, parameter.annotation
        options = {name: (parameter.default, kind)} if isinstance(parameter.default, Field) else {}
        if isinstance(kind, type) and is_dataclass(kind):
            classes[name] = kind
            hints = get_type_hints(kind)
            options = {field.name: (field, hints[field.name]) for field in fields(kind) if field.metadata}
        if not options:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        for key, (field, hint) in options.items():
            defaults[key] = field.default
            parameters.append(_parameter(key, field, hint, getattr(kind, "GROUP", "")))

    declared: dict[str, Declared] = {}
    for parameter in parameters:
        for info in getattr(parameter.annotation, "__metadata__", ()):
            word = str(info.default) if isinstance(info, typer.models.OptionInfo) else ""
            is_read = info.parser in (local, location) or (info.parser is None and info.metavar in READ)
            declared[parameter.name] = Declared(word, info.parser, is_read)

    @wraps(command)
    def called(**arguments: Any) -> None:
        for name, default in defaults.items():
            value = arguments[name]
            arguments[name] = default if value is None else tuple(value) if isinstance(value, list) else value
        for name, kind in classes.items():
            arguments[name] = kind(
                **{field.name: arguments.pop(field.name) for field in fields(kind) if field.metadata}
            )
        command(**arguments)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.declared = declared  # type: ignore[attr-defined]  # for check_written
    return called


def _parameter(name: str, field: Field[Any], hint: Any, group: str) -> inspect.Parameter:
    """The parameter of an option; a tuple of any length is repeatable. ``group``: of a field without one."""
    settings, default = dict(field.metadata), field.default
    settings["rich_help_panel"] = settings.pop("group", group) or None
    word = option_name(name, field.metadata)
    settings.pop("name", None)
    if settings.pop("variable", False):
        settings["envvar"] = f"D2T_{word.removeprefix('--').upper().replace('-', '_')}"
    if get_origin(hint) is tuple and ... in get_args(hint):
        kind = Any if "parser" in settings else get_args(hint)[0]
        hint, default = list[kind] | None, default or None  # type: ignore[valid-type]
    elif "parser" in settings:
        hint = Any  # typer takes no unions
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[hint, typer.Option(word, **settings)],
    )


def configured(command: Any) -> dict[str, Any]:
    """The ``default_map`` of a group of commands: ``scorer.toml`` in the working directory, or the file that
    ``D2T_CONFIG`` names.

    ::

        bundle = "bundles/roberta-large-mnli"    # paths are relative to the file
        gates = ["gates.toml"]
        text_column = "output.text"

    A key is the name of an option that has an environment variable, with underscores. The option parser lets options
    override variables, and variables this file.

    Raises:
        UsageError: the file cannot be read, is not TOML, or has an unknown key or a value of another type.
    """
    from_variable = os.environ.get(CONFIG_VARIABLE)
    path = Path(from_variable or CONFIG_FILE)
    try:
        if not from_variable and not path.is_file():
            return {}
        import tomllib

        content = tomllib.loads(read_small(path, _LARGEST_CONFIG).decode("utf-8"))
    except OSError as error:
        where = f"{CONFIG_VARIABLE}={from_variable}" if from_variable else CONFIG_FILE
        raise UsageError(f"{where}: {error.strerror or error}; name a readable TOML file, or none") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {str(error)[:200]}") from error
    repeatable = {parameter.name: parameter.multiple for parameter in _variable_options(command)}
    for key, value in content.items():
        if key not in repeatable:
            raise UsageError(f"{path}: unknown key {key[:60]!r}; the keys are {', '.join(sorted(repeatable))}")
        values = value if repeatable[key] and isinstance(value, list) else [value]
        if not all(isinstance(item, str) or type(item) is int for item in values):
            raise UsageError(f"{path}: {key} is {str(value)[:60]}; write a string, a number or a list of files")
        if key in _PATHS_IN_CONFIG:
            values = [_next_to(path, key, str(item)) for item in values]
        content[key] = values if repeatable[key] else values[0]
    return _default_map(command, content)


def _default_map(command: Any, content: dict[str, Any]) -> dict[str, Any]:
    if hasattr(command, "commands"):
        return {name: _default_map(inner, content) for name, inner in command.commands.items()}
    names = (parameter.name for parameter in _variable_options(command))
    return {name: content[name] for name in names if name in content}


def _variable_options(command: Any) -> Iterator[Any]:
    """The options of a command, or of all commands of a group, that have an environment variable."""
    for inner in getattr(command, "commands", {}).values():
        yield from _variable_options(inner)
    yield from (parameter for parameter in command.params if isinstance(getattr(parameter, "envvar", None), str))


def _next_to(path: Path, key: str, value: str) -> str:
    """A path of the file, which is relative to the file's folder."""
    if value in BUILTIN_BUNDLES or "://" in value:
        return value
    try:
        return str(path.absolute().parent / user_path(value))
    except UsageError as error:
        raise UsageError(f"{path}: {key}: {error}") from error


def _parser(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A parser of options and arguments; its refusals name the option."""

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ScorerError as error:
            raise typer.BadParameter(str(error)) from error

    return parsed


def _output(text: str) -> Location:
    location = parse_location(text)
    if isinstance(location, StoreUri):
        from ..storage.object_store import client

        client()
    return location


local = _parser(local_path)
"""Of a local path, from text: a ``Path`` made from a ``file://`` URI would be an ordinary relative path."""
location = _parser(_output)
"""Of an output: a local path, or a URI of an object store."""
written, written_parquet = _parser(local_path), _parser(local_path)
"""Of a file to write, in any format but Parquet, or in Parquet; see :func:`check_written`."""


class Declared(NamedTuple):
    """A parameter of a command."""

    option: str
    """The option as users write it, empty for an argument."""
    parser: Callable[[str], Any] | None
    is_read: bool
    """Whether it names something that the command reads."""


def check_written(command: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse a file to write that is an input of the command, a run's own, named twice, or otherwise not to be written.

    Args:
        command: as :func:`takes_fields` makes it.
        arguments: the values of its parameters, by name.
    """
    with_value = {name: declared for name, declared in command.declared.items() if arguments.get(name) is not None}
    files = {name: declared for name, declared in with_value.items() if declared.parser in (written, written_parquet)}
    if not files:
        return
    from ..storage.user_files import check_user_file

    inputs = [
        str(path) for name, declared in with_value.items() if declared.is_read for path in _values(arguments[name])
    ]
    form: Format = arguments.get("form") or "auto"
    option_of: dict[str, str] = {}
    for declared, path in ((declared, path) for name, declared in files.items() for path in _values(arguments[name])):
        is_parquet = declared.parser is written_parquet
        check_user_file(path, declared.option, inputs=inputs, form=form, is_parquet=is_parquet)
        earlier = option_of.setdefault(os.path.realpath(path), declared.option)
        if earlier != declared.option and (path.is_file() or not path.exists()):
            raise UsageError(f"{earlier} and {declared.option} are both {path}; name two files")


def _values(value: Any) -> Iterable[Any]:
    """The values of a parameter: several of a repeatable one, otherwise one."""
    return value if isinstance(value, list | tuple) else [value]


def split_names(text: str) -> tuple[str, ...]:
    """The names in a text with commas between them, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _outputs(help: str) -> Any:
    return typer.Argument(metavar="OUT", parser=location, help=help)  # each a Path or a StoreUri: typer takes no unions


InputsArgument = Annotated[
    list[str], typer.Argument(metavar="IN", help="Input files, folders, globs or URIs; exits 2 if there are none.")
]
OutputArgument = Annotated[
    list[Any], _outputs("Output of `scorer run`, or its parts, local or in a store; exits 2 if there is none.")
]
FinishedArgument = Annotated[
    list[Any],
    _outputs("Finished output of `scorer run`, or its parts; exits 2 if it is not finished or a part is missing."),
]
ScoredArgument = Annotated[
    list[Any],
    _outputs(
        "Output of `scorer run`, or its parts, local or in a store, or one scored file; exits 2 if it is not "
        "finished or a part is missing."
    ),
]
CitedArgument = Annotated[list[Any] | None, _outputs("Finished output of `scorer run`, or its parts.")]
PARTIAL: Any = option(
    "Accept an output that is not finished, or of which parts are missing.", default=False, name="--allow-partial"
)
BY: Any = option(
    "Columns to group by; comma-separated columns form one grouping. Repeatable. Default: system, if it exists.",
    "COLUMNS",
    (),
    parser=split_names,
)
JSON: Any = option("Print the result as JSON.", default=False, name="--json")
BUNDLE: dict[str, Any] = {
    "help": "Bundle folder, or `embedded`.",
    "metavar": "B",
    "variable": True,
    "autocompletion": lambda incomplete: [
        word for word in BUILTIN_BUNDLES if incomplete and word.startswith(incomplete)
    ],
}


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Device and variant."""

    GROUP: ClassVar = "Model"
    device: str = option(
        "Device; exits 2 if a named one cannot start. auto: CUDA if it starts, otherwise the CPU.",
        "auto|cpu|cuda|cuda:N",
        "auto",
        variable=True,
        group="",
    )
    precision: Precision = option(
        "Variant; exits 2 if the bundle lacks it. auto: fp16 on CUDA, int8 on the CPU.", default="auto", variable=True
    )
    threads: int | None = option(
        "Threads on the CPU, of each worker. Default: one for each usable core, within the container's CPU quota.",
        "N", None, min=1, variable=True,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The fields of :class:`..metric.ColumnNames` that are options of a run."""

    GROUP: ClassVar = "Input columns and format"
    text_column: str = option("Column of texts; a file without it fails.", "NAME", "text", variable=True)
    triples_column: str | None = option("Column of triples. Default: triples.", "NAME", None, variable=True)
    attributes_column: str | None = option(
        "Column of attributes (struct, map, JSON object), or comma-separated columns.", "NAME", None, variable=True
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
        "--sentences.", "NAME", None, variable=True,
    )  # fmt: skip
    keep: tuple[str, ...] | None = option(
        "Comma-separated input columns to keep. Default: all.",
        "COLUMNS",
        None,
        variable=True,
        parser=split_names,
        group="Output",
    )
    prefix: str = option(
        "Prefix of output columns, where an input column has the same name.", "P", "", variable=True, group="Output"
    )
    details: bool = option(
        "Add the facts as worded, and the three probabilities of every check.", default=False, group="Output"
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions(DeviceOptions):
    """The fields of :class:`..scoring.settings.Settings`, but for the names of columns."""

    bundle: str = option(**BUNDLE, group="")
    templates: str | None = option(
        "Template file; exits 2 if invalid. Default: the bundle's, otherwise backoff.",
        "FILE",
        None,
        variable=True,
        group="",
    )
    protocol: Protocol = option(
        "Metric: as in the paper, as in its code, or FactSpotter.", default="paper", variable=True, group="Facts"
    )
    checks: Sides = option(
        "Check both sides, or one: hallucination if texts may leave facts out, omission if they may say more.",
        default="both",
        variable=True,
        group="Facts",
    )
    optional: tuple[str, ...] = option(
        "Fact that a text may omit, such as eatType=restaurant. Repeatable.", "P=O", default=(), group="Facts"
    )
    missing_template: MissingTemplate = option(
        "For a triple without a template: use the backoff template, or exit 2.",
        default="backoff",
        variable=True,
        group="Facts",
    )
    reading: Reading = option(
        "Facts and texts as they are written, or plain: in one notation of numbers, dates and units, without mark-up.",
        default="verbatim", variable=True, group="Facts",
    )  # fmt: skip
    device_memory: int = option("GPU memory of each session, in GiB; 0 for no limit.", "GIB", 0, min=0, variable=True)
    overlong: Overlong = option(
        "For pairs longer than the model's maximum: an error, or truncate with a note.", default="error", variable=True
    )
    sentences: bool = option("Also check every sentence of a text.", default=False, group="Facts")
    exact: bool = option(
        "Recompute undecided pairs in fp32 to get the labels of fp32; exits 2 if the bundle lacks it.", default=False
    )

    def settings(self, columns: ColumnOptions) -> Settings:
        """The settings, with absolute paths, since a plan is read from elsewhere."""
        options = {field.name: getattr(self, field.name) for field in fields(ModelOptions)}
        options["bundle"] = bundle_argument(self.bundle, "--bundle")
        if self.templates:
            options["templates"] = str(local_path(self.templates, "--templates").resolve())
        names = {name.removesuffix("_column"): value for name, value in vars(columns).items()}
        return Settings(**options, columns=ColumnNames(**names))


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """The format of inputs."""

    GROUP: ClassVar = "Input columns and format"
    form: Format = option("Format of IN. auto: by suffix; in a folder, Parquet first.", default="auto", name="--format")
    delimiter: str | None = option(
        "Separator of CSV and TSV: a character, or the word tab. Default: detected from the header.", "C", None
    )

    def __post_init__(self) -> None:
        if self.delimiter is None:
            return
        if self.form in ("parquet", "jsonl"):
            raise UsageError(f"--delimiter is for CSV and TSV, and --format is {self.form}; leave one of them out")
        character = "\t" if self.delimiter.lower() in ("tab", "\\t") else self.delimiter
        if len(character) != 1 or character in '"\r\n\0':
            raise UsageError(f"--delimiter {character!r}: give one character, as in --delimiter ';', or the word tab")
        object.__setattr__(self, "delimiter", character)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(FormatOptions):
    """The fields of :class:`..run.executors.RunOptions` that ``scorer plan`` takes too."""

    limit: int | None = option("Score only the first N rows.", "N", None, min=1, group="")
    reuse: tuple[Location, ...] = option(
        "Earlier output, whose labels are kept for rows with the same row_key and signature. Repeatable.",
        "OUT0",
        (),
        parser=location,
        group="",
    )
    split_rows: int | None = option(
        "Split Parquet files, along row groups, into parts of at most N rows in a folder each.",
        "N",
        None,
        min=1,
        group="Output",
    )


def bundle_argument(bundle: str, name: str) -> str:
    """A bundle as a plan records it: a word for a model that ships, or an absolute path. ``name``: of the option.

    Raises:
        UsageError: a URI of a store, or the name of a checkpoint on the hub.
    """
    if bundle in BUILTIN_BUNDLES:
        return bundle
    if not bundle.lower().startswith("file:"):
        from ..inference.bundle import folder_of

        folder_of(bundle)
    return str(local_path(bundle, name).resolve())


def say_bundle_notes(settings: Settings) -> None:
    """Say why labels of the bundle may be wrong, if a reason is known."""
    if note := _bundle_note(settings):
        say(f"note: {note}")


def _bundle_note(settings: Settings) -> str | None:
    if str(settings.bundle) not in BUILTIN_BUNDLES:
        from ..inference.bundle import folder_of, read_manifest
        from ..inference.diagnosis import caveat

        return caveat(read_manifest(folder_of(settings.bundle))[0])
    if settings.columns.document is not None:
        return (
            "the embedded model is not for documents: its labels are close to chance; export a checkpoint that is "
            "(docs/checkpoints.md) and pass its bundle with --bundle"
        )
    if settings.sentences:
        return (
            "the embedded model is small and passes nearly every text whose facts do not fit it, right or wrong (rows "
            "with the note by_sentences; docs/figures.md): for such rows, export a large checkpoint and pass its "
            "bundle with --bundle"
        )
    return (
        "the embedded model is small, knows English only, and is often wrong; for production-quality labels, export a "
        "large checkpoint and pass its bundle with --bundle"
    )


def open_scorer(settings: Settings, budgets: Budgets | None = None) -> Scorer:
    """A scorer of the settings, with the budgets, layout and attention of an earlier run, if there was one."""
    from ..scoring.scorer import Scorer

    return Scorer(**settings.arguments(), budgets=budgets, log=say_once)
