"""What several commands share: options, and how a scorer is opened. See :mod:`.settings` for its own options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..inference.shipped import SHIPPED, folder_of
from ..system.input_formats import Format
from .ending import guarded as guarded
from .files import local as local
from .files import location as location
from .show.output import print_json as print_json
from .show.output import say as say
from .show.output import say_always as say_always
from .show.output import say_once as say_once
from .show.output import tell as tell

if TYPE_CHECKING:
    from ..scoring.metric_rows import MetricScoring
    from ..scoring.plan import Budgets
    from ..scoring.scorer import Scorer
    from ..scoring.settings import Settings


def bundle_argument(given: str, what: str) -> str:
    """A bundle as a plan records it: a word for a model that ships, or an absolute path.

    Args:
        what: the option or argument, for messages.

    Raises:
        UsageError: a URI of a store.
    """
    from ..storage.local_paths import local_path

    if given in SHIPPED:
        return given
    if not given.lower().startswith("file:"):
        folder_of(given)
    return str(local_path(given, what).resolve())


def delimiter(given: str) -> str:
    """Parse ``--delimiter``: one character, or the word ``tab``.

    Raises:
        typer.BadParameter: neither, or a character that a record has another use for.
    """
    found = "\t" if given.lower() in ("tab", "\\t") else given
    if len(found) != 1 or found in '"\r\n\0':
        raise typer.BadParameter(f"{given!r}; give one character, as in --delimiter ';', or the word tab")
    return found


InputsArgument = Annotated[
    list[str],
    typer.Argument(metavar="IN", help="Input files, folders, globs or URIs; exits 2 if there are none."),
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="Format of IN. auto: by suffix; of a folder, Parquet if it has any.")
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="C",
        parser=delimiter,
        help="Character between the fields of CSV and TSV files, or the word tab. Default: a comma, or a semicolon or "
        "tab where the header has no comma; in TSV a tab.",
    ),
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Score only the first N rows.")]
SplitRowsOption = Annotated[
    int | None,
    typer.Option(
        "--split-rows",
        min=1,
        metavar="N",
        help="Score Parquet files of more rows in pieces of N rows, along row groups; each becomes a folder of files.",
    ),
]
ReuseOption = Annotated[
    list[Any] | None,  # of Path or StoreUri: typer takes no unions
    typer.Option(
        "--reuse",
        metavar="OUT0",
        parser=location,
        help="Output of an earlier run, local or in a store. Rows with the same row_key keep their labels if the "
        "signatures are equal; otherwise they are scored. Repeatable.",
    ),
]


def parse_by(given: list[str] | None) -> tuple[tuple[str, ...], ...]:
    """The groupings of ``--by``: a tuple of columns of each time it was given."""
    return tuple(tuple(dict.fromkeys(c.strip() for c in one.split(",") if c.strip())) for one in given or ())


def note_of(settings: Settings) -> str | None:
    """What a user should know of the bundle before its labels; ``None`` where there is nothing.

    Raises:
        BundleError: it is not there, or its description cannot be read.
    """
    from ..inference.manifest import read_manifest

    shipped = SHIPPED.get(str(settings.bundle))
    return shipped.note if shipped else read_manifest(folder_of(settings.bundle))[0].caveat


def metric_scoring(settings: Settings) -> MetricScoring:
    """How a run scores with the metric: opened with the budgets of an earlier plan, where there are some."""
    from ..scoring.metric_rows import MetricScoring

    def opener(budgets: Budgets) -> Scorer:
        return open_scorer(settings, budgets)

    return MetricScoring(settings, opener)


def open_scorer(settings: Settings, budgets: Budgets | None = None) -> Scorer:
    """A scorer as the settings say; budgets, layout and attention are those of an earlier run, if there was one."""
    from ..scoring.plan import Budgets
    from ..scoring.scorer import Scorer

    found = budgets or Budgets()
    return Scorer(
        **settings.arguments(),
        layout=found.layout or "auto",
        attention=found.attention,
        threads=found.threads,
        token_budget=found.batch_tokens,
        log=say_once,
    )
