"""A finished output in an object store, copied to a local folder to be read there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ...errors import OutputError
from ...system.waiting import several
from ..durable import file_sha256, output_errors, require_space
from ..finished import FAILED, PLAN, RECEIPTS, RUN, SUCCESS
from ..location import Location, StoreUri
from ..receipts_old import Receipts, failed_name, receipt_name, relatives_of
from ..store_old import Entry
from .store import BucketStore

_THREADS = 8
_PART = 32 << 20


@contextmanager
def local_copy(out: Location, only: Callable[[str], bool] = lambda relative: True) -> Iterator[Path]:
    """A local folder with what is at a place: the folder itself, or a temporary copy of what is in a store.

    Each object is copied in the version that one listing showed, and the outputs must have the SHA-256 that their
    receipts name. So the copy is that of one moment.

    Args:
        only: which outputs are needed, by their relative paths; receipts are copied of these alone.

    Raises:
        OutputError: there is no output, it changed meanwhile, or is not what its receipts say.
        MissingDependencyError: ``obstore`` is not installed.
    """
    if isinstance(out, Path):
        yield out
        return
    store = BucketStore(out, patient=False)
    with TemporaryDirectory(prefix="d2t-") as top:
        folder = Path(top) / (out.path or out.bucket)
        with output_errors("make", folder):
            folder.mkdir(parents=True)
        objects = _objects(store, only)
        if PLAN not in objects:
            raise OutputError(f"{out} is not an output of `scorer run`: it has no {PLAN}")
        require_space(folder, sum(entry.size for entry in objects.values()), f"a copy of {out}")
        several(lambda item: _fetch(store, *item, folder), objects.items(), _THREADS)
        _check(out, folder)
        if _objects(store, only) != objects:
            raise OutputError(f"{out} changed while it was copied; wait until the run that writes there has ended")
        yield folder


def _objects(store: BucketStore, only: Callable[[str], bool]) -> dict[str, Entry]:
    """What is to be copied."""
    listed = store.list()
    names = {PLAN, RUN, SUCCESS, *map(failed_name, filter(only, relatives_of(listed, FAILED)))}
    for relative in filter(only, relatives_of(listed, RECEIPTS)):
        names |= {receipt_name(relative), relative}
    return {name: entry for name, entry in listed.items() if name in names}


def _fetch(store: BucketStore, name: str, entry: Entry, folder: Path) -> None:
    path = folder / name
    with output_errors("copy to", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.open(name, entry) as source, path.open("xb") as file:
            shutil.copyfileobj(source, file, _PART)


def _check(out: StoreUri, folder: Path) -> None:
    receipts = Receipts(folder)
    for relative in receipts.all():
        receipt = receipts.read(relative)
        if receipt is None:
            continue  # what reads the copy says so
        path = folder / relative
        if not path.is_file():
            raise OutputError(f"{out}: the output {relative} has a receipt and is not there; run `scorer run` again")
        if file_sha256(path) != receipt.output.sha256:
            raise OutputError(f"{out}: the output {relative} is not what its receipt says; run `scorer run` again")
