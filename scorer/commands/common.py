"""What several commands share: options, and how a scorer is opened. See :mod:`.settings` for its own options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ..inference.choices import BUILTIN_BUNDLES, folder_of
from .console.output import print_json as print_json
from .console.output import say as say
from .console.output import say_always as say_always
from .console.output import say_once as say_once
from .console.output import tell as tell
from .files import local as local
from .files import location as location

Result = TypeVar("Result")

if TYPE_CHECKING:
    from ..scoring.scorer import Scorer
    from ..scoring.settings import Settings
    from ..storage.plan import Budgets


def bundle_argument(given: str, what: str) -> str:
    """A bundle as a plan records it: a word for a model that ships, or an absolute path.

    Args:
        what: the option or argument, for messages.

    Raises:
        UsageError: a URI of a store.
    """
    from ..storage.local_paths import local_path

    if given in BUILTIN_BUNDLES:
        return given
    if not given.lower().startswith("file:"):
        folder_of(given)
    return str(local_path(given, what).resolve())


InputsArgument = Annotated[
    list[str],
    typer.Argument(metavar="IN", help="Input files, folders, globs or URIs; exits 2 if there are none."),
]


ScoredArgument = Annotated[
    list[Any],  # each a Path or a StoreUri: typer takes no unions
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


def present(found: Result, as_json: bool, show: Callable[[Result], None]) -> None:
    """Print a result on stdout: as JSON, or as ``show`` prints it for people."""
    (print_json if as_json else show)(found)


def parse_by(given: list[str] | None) -> tuple[tuple[str, ...], ...]:
    """The groupings of ``--by``: a tuple of columns of each time it was given."""
    return tuple(tuple(dict.fromkeys(c.strip() for c in one.split(",") if c.strip())) for one in given or ())


def note_of(settings: Settings) -> str | None:
    """What a user should know of the bundle before its labels; ``None`` where there is nothing.

    Raises:
        BundleError: it is not there, or its description cannot be read.
    """
    if shipped := BUILTIN_BUNDLES.get(str(settings.bundle)):
        return shipped.note
    from ..inference.bundle import read_manifest

    return read_manifest(folder_of(settings.bundle))[0].caveat


def warn_of_documents(settings: Settings) -> None:
    """Say that a model that ships was not made for documents, where it is to check them."""
    if settings.columns.document is not None and str(settings.bundle) in BUILTIN_BUNDLES:
        say("note: the embedded model is not for documents; export a checkpoint that is (docs/checkpoints.md)")


def open_scorer(settings: Settings, budgets: Budgets | None = None) -> Scorer:
    """A scorer as the settings say; budgets, layout and attention are those of an earlier run, if there was one."""
    from ..scoring.scorer import Scorer
    from ..storage.plan import Budgets

    found = budgets or Budgets()
    return Scorer(
        **settings.arguments(),
        layout=found.layout or "auto",
        attention=found.attention,
        threads=found.threads,
        token_budget=found.batch_tokens,
        log=say_once,
    )
