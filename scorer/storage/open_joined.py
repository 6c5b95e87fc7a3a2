"""Open the output of a joined run, in a folder or in an object store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ..system.input_formats import Format
from .durable import read_json
from .filesystems import check_output_apart
from .finished import RUN
from .joined import JoinedOutput
from .joined_folder import JoinedFolder
from .objects.joined import JoinedStore
from .objects.receipts import parsed_json
from .objects.store import ObjectStore
from .objects.uri import Location, check_stores_apart
from .plan import inspect_output


def check_location(inputs: Sequence[str], out: Location, form: Format) -> None:
    """Check an output before anything is opened.

    Raises:
        OutputError: it is among the inputs, or is no output folder.
    """
    if isinstance(out, Path):
        check_output_apart(list(inputs), out, form)
        inspect_output(out)
    else:
        check_stores_apart(inputs, out)


def read_run(out: Location) -> object:
    """The content of ``_run.json``; ``None`` where there is none, or it is not JSON.

    Raises:
        OutputError: it cannot be read.
    """
    if isinstance(out, Path):
        return read_json(out / RUN)
    found = ObjectStore.open(out).read(out.key(RUN))
    return parsed_json(found[0]) if found is not None else None


def open_joined(out: Location, say: Callable[[str], None]) -> JoinedOutput:
    """The output, to be shared with other workers, and to be closed at the end.

    Args:
        say: called when this waits for another process.

    Raises:
        OutputError: not ours, held by another run, or it cannot be used.
    """
    if isinstance(out, Path):
        return JoinedFolder.open(out, create=True, shared=True, say=say)
    return JoinedStore.open(out, say)
