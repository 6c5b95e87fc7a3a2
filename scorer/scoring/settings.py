"""The settings of a scorer, declared once for the command line, Python, the plan file and ``scorer plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Required, TypedDict, TypeVar, cast

from ..errors import OutputError, UsageError
from ..inference import Overlong, Precision
from ..metric import ColumnNames, MissingTemplate, Protocol, Reading, Sides
from ..system.arguments import CheckedFields

T = TypeVar("T", bound=CheckedFields)


class ScorerOptions(TypedDict, total=False):
    """The keyword arguments of :class:`scorer.Scorer` for type checkers and editors; :class:`Settings` documents each
    with its default."""

    templates: str | Path | Mapping[str, Any] | None
    protocol: Protocol
    checks: Sides
    optional: Sequence[str]
    missing_template: MissingTemplate
    reading: Reading
    device: str
    precision: Precision
    threads: int | None
    device_memory: int
    overlong: Overlong
    sentences: bool
    exact: bool
    columns: ColumnNames


class ScorerArguments(ScorerOptions):
    """All arguments of :class:`scorer.Scorer` that settings give."""

    bundle: Required[str | Path]


@dataclass(frozen=True)
class Settings(CheckedFields):
    """All settings of a scorer: for its labels, its output columns and its device.

    Raises:
        TypeError: a setting of another type.
        UsageError: a setting with a value that is not one of its choices, or that the protocol does not use.
    """

    bundle: str | Path
    """A folder, or the name of a model that ships."""
    templates: str | Path | Mapping[str, Any] | None = None
    """A template file, its parsed content, or ``None`` for the bundle's own (otherwise backoff)."""
    protocol: Protocol = "paper"
    """The metric as in the paper, as in its released code, or FactSpotter."""
    checks: Sides = "both"
    """Sides to check. With a column of documents it is ``hallucination``."""
    optional: Sequence[str] = ()
    """Facts that a text may omit, as ``predicate=object``, added to those of the template file."""
    missing_template: MissingTemplate = "backoff"
    """For a triple without a template: the backoff template, or an error."""
    reading: Reading = "verbatim"
    """Facts and texts as they are written, or in one notation."""
    device: str = field(default="auto", metadata={"choices": "auto, cpu, cuda, cuda:N"})
    """Where to compute; ``auto`` is CUDA if it starts, otherwise the CPU."""
    precision: Precision = "auto"
    """Variant of the model; ``auto`` is fp16 on CUDA, int8 on the CPU."""
    threads: int | None = None
    """Threads on the CPU; ``None`` for all that this process may use. Budgets of an earlier run take precedence."""
    device_memory: int = 0
    """GPU memory of the session, in GiB; 0 for no limit."""
    overlong: Overlong = "error"
    """For pairs longer than the model accepts: an error, or truncation with a note."""
    sentences: bool = False
    """Whether every sentence of a text is checked too. With a column of documents it is true."""
    exact: bool = False
    """Whether undecided pairs are computed again in fp32."""
    columns: ColumnNames = field(default_factory=ColumnNames)
    """Names of input and output columns; their ``sentences`` follows from the settings."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads is {self.threads}; write a number from 1, or none for all processors")
        if self.protocol == "factspotter":
            self._check_factspotter()
        if self.reading == "plain" and (self.sentences or self.columns.document is not None):
            raise UsageError(
                "--reading plain does not go with --sentences and --document-column, whose sentences are places in the "
                "text as it is written; remove one of them"
            )
        if self.checks == "omission" and (self.columns.document is not None or self.sentences):
            option = "--document-column" if self.columns.document is not None else "--sentences"
            raise UsageError(f"{option} checks for hallucinations, which --checks omission leaves out; remove one")
        if self.columns.document is not None:
            object.__setattr__(self, "checks", "hallucination")
            object.__setattr__(self, "sentences", True)
        object.__setattr__(self, "optional", tuple(self.optional))
        object.__setattr__(self, "columns", replace(self.columns, sentences=self.sentences))

    @property
    def worst_sentence(self) -> bool:
        """Whether the worst of several sentences counts as much as the whole text. False for documents, where this was
        not measured, and under ``nlgi_eval``, which is the metric of the paper's code."""
        return self.sentences and self.columns.document is None and self.protocol != "nlgi_eval"

    def _check_factspotter(self) -> None:
        """Refuse settings that FactSpotter does not use: it has neither templates nor a hallucination side."""
        is_used = {
            "--document-column": self.columns.document is not None,
            "--checks hallucination": self.checks == "hallucination",
            "--sentences": self.sentences,
            "--reading plain": self.reading == "plain",
            "--templates": self.templates is not None,
            "--missing-template error": self.missing_template == "error",
        }
        if refused := [option for option, used in is_used.items() if used]:
            raise UsageError(
                f"{refused[0]} does not go with --protocol factspotter, which looks up each triple in the text without "
                "templates and finds no hallucinations; remove one of them"
            )

    def arguments(self) -> ScorerArguments:
        """The settings as keyword arguments of :class:`scorer.Scorer`."""
        return cast(ScorerArguments, {setting.name: getattr(self, setting.name) for setting in fields(self)})

    def to_plan(self) -> dict[str, Any]:
        """The settings as a plan records them, in the types of JSON."""
        values = vars(self) | {"optional": sorted(self.optional), "columns": asdict(self.columns)}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def from_plan(kind: type[T], content: Any, where: str) -> T:
    """The settings that a plan records, or their column names.

    Args:
        kind: :class:`Settings` or :class:`.ColumnNames`.
        content: the object of the plan.
        where: the plan, for messages.

    Raises:
        OutputError: the settings are those of another version, or a value is not possible.
    """
    values = dict(content) if isinstance(content, Mapping) else {}
    names = {setting.name for setting in fields(kind)}  # type: ignore[arg-type]  # subclasses are data classes
    if differs := sorted(names ^ values.keys()):
        raise OutputError(
            f"{where}: another version wrote its settings ({', '.join(map(repr, differs))}); use that version, or run "
            "again into the folder"
        )
    if "columns" in values:
        values["columns"] = from_plan(ColumnNames, values["columns"], where)
    if isinstance(values.get("keep"), list):
        values["keep"] = tuple(values["keep"])
    try:
        return kind(**values)
    except (TypeError, UsageError) as error:
        raise OutputError(f"{where}: {error}; run again into the folder") from error
