"""A finished output in an object store, copied to a local folder to be read there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import OutputError
from ..system.waiting import several
from .location import Location, StoreUri
from .output_folder import OutputFolder
from .parts import find_outputs
from .plan import PLAN, RUN, SUCCESS
from .receipts import FAILED, RECEIPTS, Receipt, failed_name, receipt_name, relatives_of
from .store import FileInfo, Store, file_sha256, output_errors, require_space

_THREADS = 8
_BLOCK = 32 << 20


@contextmanager
def local_copy(out: Location, only: Callable[[str], bool] = lambda relative: True) -> Iterator[Path]:
    """A local folder with the files of an output: the output itself, or a temporary copy of one in a store.

    The copy is that of one moment: each object is copied in the version that one listing showed, a second listing is
    equal, and the outputs have the SHA-256 that their receipts name.

    Args:
        only: which shards are needed, by their relative paths.

    Raises:
        OutputError: there is no output, it changed meanwhile, or it differs from its receipts.
        MissingDependencyError: ``obstore`` is not installed.
    """
    if isinstance(out, Path):
        yield out
        return
    store = OutputFolder(out, patient=False).store
    with TemporaryDirectory(prefix="d2t-") as top:
        folder = Path(top) / (out.path or out.bucket)
        with output_errors("create", folder):
            folder.mkdir(parents=True)
        files = _needed(store, only)
        if PLAN not in files:
            raise OutputError(f"{out} is not an output of `scorer run`: it has no {PLAN}")
        require_space(folder, sum(info.size for info in files.values()), f"a copy of {out}")
        several(lambda item: _copy(store, *item, folder), files.items(), _THREADS)
        _check(out, OutputFolder(folder))
        if _needed(store, only) != files:
            raise OutputError(f"{out} changed while it was copied; wait until the run that writes there has ended")
        yield folder


def _needed(store: Store, only: Callable[[str], bool]) -> dict[str, FileInfo]:
    files = store.list()
    names = {PLAN, RUN, SUCCESS, *map(failed_name, filter(only, relatives_of(files, FAILED)))}
    for relative in filter(only, relatives_of(files, RECEIPTS)):
        names |= {receipt_name(relative), relative}
    return {name: info for name, info in files.items() if name in names}


def _copy(store: Store, name: str, info: FileInfo, folder: Path) -> None:
    path = folder / name
    with output_errors("copy to", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.open(name, info.version) as source, path.open("xb") as file:
            shutil.copyfileobj(source, file, _BLOCK)


def _check(out: StoreUri, copy: OutputFolder) -> None:
    for relative, receipt in copy.receipts().items():
        if not isinstance(receipt, Receipt):
            continue  # the reader of the copy says so
        if not copy.store.list(relative):
            raise OutputError(f"{out}: the output {relative} has a receipt and is not there; run `scorer run` again")
        if file_sha256(Path(copy.store.uri(relative))) != receipt.output.sha256:
            raise OutputError(f"{out}: the output {relative} is not what its receipt says; run `scorer run` again")


@contextmanager
def local_outputs(
    outs: Sequence[Location], only: Callable[[str], bool] = lambda relative: True
) -> Iterator[tuple[Path, ...]]:
    """Local folders with what is at some places; see :func:`local_copy`.

    Args:
        outs: outputs, or folders of the parts of one.
    """
    with ExitStack() as stack:
        places = [one for out in outs for one in ([out] if isinstance(out, Path) else find_outputs([out]))]
        yield tuple(stack.enter_context(local_copy(place, only)) for place in places)
