"""The input files of a run: files, folders, globs and URIs resolved to names, and the paths of their outputs below OUT.

Nothing is opened here; :mod:`.shards` does that, in a worker.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, OutputError, UsageError
from ..system.files import Format, format_of, output_name, suffixes_of
from .location import SCHEMES, Location, StoreUri, check_stores_apart, is_hidden, local_path
from .object_store import open_store
from .shards import InputFile

LONGEST_NAME = 250
ANY_DEPTH = "**"
DELTA_LOG = "_delta_log"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class _Input(NamedTuple):
    """An input as given: a place, and the glob to match below it (``None``: all files of the format)."""

    given: str
    root: Location
    pattern: tuple[str, ...] | None = None


def find_files(inputs: Sequence[str], form: Format = "auto", delimiter: str | None = None) -> list[InputFile]:
    """Find the files of the inputs, sorted by the path of their output.

    The output of a file is OUT/<its name>; that of a file in a folder has its path below that folder, and that of a
    match of a glob its path below the fixed prefix. The output of a text file has the suffix ``.parquet`` in place of
    its own. Below the root, names that begin with ``_`` or ``.`` are skipped.

    Args:
        form: the format of the files; which of a folder are taken, see :func:`.files.suffixes_of`.
        delimiter: of CSV and TSV; found from the header by default.

    Raises:
        InputError: an input does not exist, has no file of the format, or is a Delta table.
        StoreError: a store cannot be opened, or refuses a request.
        UsageError: two inputs would have the same output, or a name or a URI cannot be used.
    """
    if not inputs:
        raise UsageError("no input was given; name files, folders, globs or URIs")
    found: dict[str, InputFile] = {}
    for given in inputs:
        for uri, path in _files(_parse(given), form):
            kind = format_of(path, form)
            separator = delimiter if kind in ("csv", "tsv") else None
            file = InputFile(uri=uri, relative=output_name(path, kind), form=kind, delimiter=separator)
            earlier = found.setdefault(file.relative, file)
            if earlier is not file and not _same(earlier.uri, file.uri):
                raise UsageError(
                    f"{earlier.uri} and {file.uri} would both be written to {file.relative}; "
                    "score them into different folders, or name a folder above both"
                )
    refuse_overlap(found)
    return [found[relative] for relative in sorted(found)]


def check_apart(inputs: Sequence[str], out: Location, form: Format = "auto") -> None:
    """Refuse an output among the inputs: the next run would take its outputs for inputs.

    Raises:
        OutputError: OUT is or is inside an input, a glob would find it, or an input is inside OUT.
    """
    if not isinstance(out, Path):
        check_stores_apart(inputs, out)
        return
    target = out.resolve()
    for given in inputs:
        parsed = _parse(given)
        path = parsed.root
        if not isinstance(path, Path):
            continue
        for place in {path.resolve(), path}:
            if place.is_relative_to(target) and (parsed.pattern is None or place != target):
                raise OutputError(f"the input {given} is inside the output folder {out}; choose another --out")
            if target.is_relative_to(place) and path.is_dir():
                parts = target.relative_to(place).parts
                if parsed.pattern is None or _advance(parsed.pattern, parts):
                    raise OutputError(
                        f"the output folder {out} is inside the input {given}, so the next run would score its own "
                        "outputs; choose an --out outside of the input"
                    )
        if parsed.pattern is not None:
            apart: dict[Path, bool] = {}  # by folder: resolving the path of every shard would take seconds
            for uri, _ in _files(parsed, form):
                found = Path(uri)
                if found.parent not in apart:
                    apart[found.parent] = not found.parent.resolve().is_relative_to(target)
                if not apart[found.parent] or (found.is_symlink() and found.resolve().is_relative_to(target)):
                    raise OutputError(f"the input {uri} is inside the output folder {out}; choose another --out")


def _files(parsed: _Input, form: Format) -> list[tuple[str, str]]:
    """The files of one input: the URI of each, and its path below the root of the input.

    Raises:
        InputError: there are none.
    """
    given, root, pattern = parsed
    groups = suffixes_of(form)
    if isinstance(root, StoreUri):
        keys = list(open_store(StoreUri(root.scheme, root.bucket, ""), patient=False).list(root.path))
        below = [key.removeprefix(root.key("")) for key in keys if key.startswith(root.key(""))]
        is_file, is_folder = root.path in keys, bool(below)
        search = partial(_search_keys, root, below)
    else:
        is_file, is_folder = _look_at(root)
        search = partial(_search_folder, root)
    if pattern is None and is_file:
        if is_hidden(root.name):
            raise UsageError(f"{given}: files whose names begin with '_' or '.' are not scored; rename it")
        return [(str(root), root.name)]
    if pattern is None and not is_folder:
        raise InputError(f"{given} does not exist")
    found: list[str] = []
    for suffixes in groups:
        if is_folder and not found:
            found = sorted(set(search(pattern or (ANY_DEPTH,), suffixes)))
    if not found and pattern is not None:
        raise InputError(f"{given} matches no file; check the pattern")
    if not found:
        names = ", ".join(f"*{suffix}" for suffixes in groups for suffix in suffixes)
        raise InputError(f"{given} has no file to read ({names}); names that begin with '_' or '.' are skipped")
    if isinstance(root, StoreUri):
        return [(str(root.below(one)), one) for one in found]
    return [(f"{str(root).rstrip('/')}/{one}", one) for one in found]


def _parse(given: str) -> _Input:
    scheme = _SCHEME.match(given)
    if scheme is not None and scheme[1].lower() != "file":
        store = StoreUri.parse(given)
        if store is None:
            names = ", ".join(f"{name}://" for name in SCHEMES)
            raise UsageError(f"{given}: inputs are paths, file:// or one of {names}; copy the data to one of these")
        fixed, pattern = _split_pattern(store.path, "*[")  # a question mark begins the query of a URI
        return _Input(given, StoreUri(store.scheme, store.bucket, fixed), pattern)
    if scheme is None and (not given or "\0" in given):
        raise UsageError(f"{given!r} is not a path; name a file, a folder, a glob or a URI")
    place = local_path(given, "the input").absolute()
    if scheme is None and os.path.lexists(place):
        return _Input(given, place)  # the name of an existing file may contain brackets
    fixed, pattern = _split_pattern(str(place), "*[" if scheme is not None else "*?[")
    return _Input(given, Path(fixed or "/"), pattern)


def _split_pattern(path: str, magic: str) -> tuple[str, tuple[str, ...] | None]:
    """The parts of a path before the first that has magic characters, and the others, if there are any."""
    parts = path.split("/")
    first = next((i for i, part in enumerate(parts) if any(char in part for char in magic)), None)
    if first is None:
        return path, None
    return "/".join(parts[:first]), tuple(part for part in parts[first:] if part)


def refuse_overlap(relatives: Iterable[str]) -> None:
    """Refuse outputs that need a folder where another output or receipt is a file, a name too long for a receipt, and
    two that differ only in case or composition.

    Raises:
        UsageError: names the outputs.
    """
    found = set(relatives)
    seen: dict[str, str] = {}
    for relative in sorted(found):
        # Equal after NFC and case folding: one file on some file systems.
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", relative).casefold())
        other = seen.setdefault(folded, relative)
        if other != relative:
            raise UsageError(
                f"the outputs {other} and {relative} differ only in case or in the composition of characters, and are "
                "the same file on some file systems; rename one of the inputs"
            )
        parts = relative.split("/")
        if len(os.fsencode(parts[-1])) > LONGEST_NAME:
            raise UsageError(
                f"{relative}: a name may have at most {LONGEST_NAME} bytes, since .json is appended to it; rename it"
            )
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            for other in (above, above.removesuffix(".json")):
                if other in found:
                    raise UsageError(
                        f"the outputs {other} and {relative} need a file and a folder of the same name; "
                        "rename one of the inputs"
                    )


def _same(one: str, other: str) -> bool:
    """Whether two URIs refer to the same file."""
    return one == other or (not _SCHEME.match(one + other) and Path(one).resolve() == Path(other).resolve())


# --- globs ---


_Positions = frozenset[int]
"""Parts of a glob that may come next; its length for what is below a folder that all of it matched."""


def _advance(pattern: Sequence[str], folders: Sequence[str], at: _Positions | None = None) -> _Positions:
    """The positions behind some more folders of a path; empty if nothing below them can match. ``**`` stands for any
    number of folders.

    A folder that the whole glob matches stands for the files of a format in it, as if the shell had expanded the glob.
    """
    last = len(pattern)
    found = {0} if at is None else set(at)
    for name in [None, *folders] if at is None else folders:
        if name is not None:
            stay = {i for i in found if i == last or pattern[i] == ANY_DEPTH}
            found = stay | {i + 1 for i in found - stay if fnmatchcase(name, pattern[i])}
        for i in range(last - 1):  # `**` also matches no folder
            if i in found and pattern[i] == ANY_DEPTH:
                found.add(i + 1)
    return frozenset(found)


def _accepts(pattern: Sequence[str], at: _Positions, name: str, suffixes: Sequence[str]) -> bool:
    """Whether a file in a folder at these positions is one that the glob finds."""
    last = len(pattern) - 1
    any_name = len(pattern) in at or (last in at and pattern[last] == ANY_DEPTH)
    if any_name and name.lower().endswith(tuple(suffixes)):
        return True
    return last in at and pattern[last] != ANY_DEPTH and fnmatchcase(name, pattern[last])


def _search_keys(root: StoreUri, keys: Iterable[str], pattern: Sequence[str], suffixes: Sequence[str]) -> Iterator[str]:
    """The keys that a glob finds, of those below a place."""
    for key in keys:
        *folders, name = key.split("/")
        hidden = next((i for i, folder in enumerate(folders) if is_hidden(folder)), None)
        if hidden is not None and folders[hidden] == DELTA_LOG and _advance(pattern, folders[:hidden]):
            raise _delta_table(str(root.below("/".join(folders[:hidden]))))
        if hidden is None and not is_hidden(name) and _accepts(pattern, _advance(pattern, folders), name, suffixes):
            yield key


class _Visit(NamedTuple):
    """A folder to search. ``base``: its path below the root, with a trailing slash; ``at``: positions in the glob;
    ``above``: the folders on the path to it; ``is_linked``: the last step was a symbolic link."""

    base: str
    at: _Positions
    above: frozenset[tuple[int, int]] = frozenset()
    is_linked: bool = False


def _search_folder(root: Path, pattern: Sequence[str], suffixes: Sequence[str]) -> Iterator[str]:
    """Relative paths of the files that a glob finds below a folder.

    Links to folders are followed last. Each folder is searched once for the same positions in the glob: one with
    several links to it appears under the first of its paths.

    Raises:
        InputError: a folder cannot be listed, contains a link to itself, or is a Delta table.
    """
    plain = [_Visit("", _advance(pattern, ()))]
    linked: deque[_Visit] = deque()
    seen = set()
    while plain or linked:
        visit = plain.pop() if plain else linked.popleft()
        place = root / visit.base
        try:
            status = place.stat()
            key = status.st_dev, status.st_ino
            if visit.is_linked and key in visit.above:
                raise InputError(f"{place} is a link to a folder that contains it; remove it or name the files")
            if (key, visit.at) in seen:
                continue
            seen.add((key, visit.at))
            entries = _entries(place)
        except OSError as error:
            raise InputError(f"cannot list {place}: {error.strerror}") from error
        deeper: list[_Visit] = []
        for name, is_folder, is_linked in entries:
            if name == DELTA_LOG and is_folder:
                raise _delta_table(str(place))
            if is_hidden(name):
                continue
            if not is_folder:
                if _accepts(pattern, visit.at, name, suffixes):
                    yield visit.base + name
            elif at := _advance(pattern, (name,), visit.at):
                below = _Visit(f"{visit.base}{name}/", at, visit.above | {key}, is_linked)
                (linked if is_linked else deeper).append(below)
        plain += reversed(deeper)


def _entries(folder: Path) -> list[tuple[str, bool, bool]]:
    """The entries of a folder by name: whether each is a folder, and whether it is a symbolic link."""
    with os.scandir(folder) as found:
        return sorted((entry.name, entry.is_dir(), entry.is_symlink()) for entry in found)


def _delta_table(folder: str) -> InputError:
    return InputError(
        f"{folder} is a Delta table, whose folder also holds files of other versions; name the files of one version: "
        "DeltaTable(path).file_uris() of the package deltalake lists them"
    )


def _look_at(path: Path) -> tuple[bool, bool]:
    """Whether there is a file, and whether there is a folder."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False, False
    except OSError as error:
        raise InputError(f"cannot look at {path}: {error.strerror}") from error
    return not stat.S_ISDIR(mode), stat.S_ISDIR(mode)
