"""The input files of a run: files, folders, globs and URIs resolved to names, and the paths of their outputs below OUT.
Nothing is opened here."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, OutputError, UsageError
from ..system.files import Format, format_of, output_name, suffixes_of
from .location import Location, StoreUri, is_hidden, local_path
from .shards import InputFile
from .store import open_store

LONGEST_NAME = 250
ANY_DEPTH = "**"
DELTA_LOG = "_delta_log"
Glob = tuple[str, ...]
"""The parts of a glob; ``**`` stands for any number of folders. A folder that the whole glob matches stands for the
files of a format in it, as if the shell had expanded the glob."""
EVERYTHING: Glob = (ANY_DEPTH,)


class _Input(NamedTuple):
    """An input of the command."""

    argument: str
    """The argument of the user."""
    root: Location
    """File, or folder to look below."""
    glob: Glob | None = None
    """Glob to match below it; ``None`` for all files of the format."""


def find_files(inputs: Sequence[str], form: Format = "auto", delimiter: str | None = None) -> list[InputFile]:
    """Find the files of the inputs, sorted by the path of their output: its name for a file, its path below the folder
    or the fixed prefix of a glob for others. Names that begin with ``_`` or ``.`` are skipped.

    Raises:
        InputError: an input does not exist, has no file of the format, or is a Delta table.
        StoreError: a store cannot be opened, or refuses a request.
        UsageError: two inputs would have the same output, or a name or a URI cannot be used.
    """
    if not inputs:
        raise UsageError("no input was given; name files, folders, globs or URIs")
    files: dict[str, InputFile] = {}
    for argument in inputs:
        for uri, path in _files(_parse(argument), form):
            kind = format_of(path, form)
            separator = delimiter if kind in ("csv", "tsv") else None
            file = InputFile(uri=uri, relative=output_name(path, kind), form=kind, delimiter=separator)
            earlier = files.setdefault(file.relative, file).uri
            if earlier != uri and ("://" in earlier + uri or Path(earlier).resolve() != Path(uri).resolve()):
                raise UsageError(
                    f"{earlier} and {uri} would both be written to {file.relative}; "
                    "score them into different folders, or name a folder above both"
                )
    for relative in files:
        folder, _, name = relative.rpartition("/")
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise UsageError(
                f"{relative}: a name may have at most {LONGEST_NAME} bytes, as receipts add .json; rename it"
            )
        while folder:
            if {folder, folder.removesuffix(".json")} & files.keys():  # an output, or the receipt of one
                raise UsageError(f"{relative} needs a folder where {folder} is a file; rename one of the inputs")
            folder = folder.rpartition("/")[0]
    return [files[relative] for relative in sorted(files)]


def check_apart(inputs: Sequence[str], files: Sequence[InputFile], out: Location) -> None:
    """Refuse (:class:`.OutputError`) an output inside an input, and one of the ``files`` of the inputs inside OUT: the
    next run would take its outputs for inputs."""
    target = out if isinstance(out, StoreUri) else out.resolve()
    for argument, root, glob in map(_parse, inputs):
        if isinstance(root, StoreUri) and isinstance(target, StoreUri):
            prefix, out_prefix = (f"{uri.root}/{uri.path}".rstrip("/") + "/" for uri in (root, target))
            contains = prefix.startswith(out_prefix) or out_prefix.startswith(prefix)
        elif isinstance(root, Path) and isinstance(target, Path):
            above = [folder for folder in (root.resolve(), root) if folder.is_dir() and target.is_relative_to(folder)]
            below = ["/".join(target.relative_to(folder).parts) for folder in above]
            contains = any(_positions(glob or EVERYTHING, path) for path in below)
        else:
            continue
        if contains:
            raise OutputError(
                f"the output {out} is inside the input {argument} or the other way round, so that the next run would "
                "score its own outputs; choose an --out outside of the input"
            )
    if isinstance(target, StoreUri):
        return
    inside: dict[str, bool] = {}  # by folder: resolving the path of every file would take seconds
    for uri in (file.uri for file in files if "://" not in file.uri):
        folder = os.path.dirname(uri)  # noqa: PTH120  (a Path for each file takes long)
        if folder not in inside:
            inside[folder] = Path(folder).resolve().is_relative_to(target)
        if inside[folder] or (os.path.islink(uri) and Path(uri).resolve().is_relative_to(target)):  # noqa: PTH114
            raise OutputError(f"the input {uri} is inside the output folder {out}; choose another --out")


def _files(parsed: _Input, form: Format) -> Iterator[tuple[str, str]]:
    """The files of one input: the URI of each, and its path below the root of the input."""
    argument, root, glob = parsed
    pattern = glob or EVERYTHING
    if isinstance(root, StoreUri):
        keys = list(open_store(StoreUri(root.scheme, root.bucket, ""), patient=False).list(root.path))
        below = [key.removeprefix(root.key("")) for key in keys if key != root.path]
        is_file, is_folder, paths = len(below) < len(keys), bool(below), iter(below)
    else:
        is_folder = os.path.isdir(root)  # noqa: PTH112  (a Path raises what only the system can say of a name)
        is_file = os.path.exists(root) and not is_folder  # noqa: PTH110
        paths = _walk(root, pattern) if is_folder else iter(())
    if glob is None and is_file:
        if is_hidden(root.name):
            raise UsageError(f"{argument}: files whose names begin with '_' or '.' are not scored; rename it")
        yield str(root), root.name
        return
    if glob is None and not is_folder:
        raise InputError(f"{argument} does not exist, or this user may not look there")
    groups, visible = suffixes_of(form), list(_visible(root, paths, pattern))
    by_group = ([path for path in visible if _accepts(pattern, path, endings)] for endings in groups)
    matching = next(filter(None, by_group), [])
    if not matching and glob is not None:
        raise InputError(f"{argument} matches no file; check the pattern")
    if not matching:
        names = ", ".join(f"*{suffix}" for suffixes in groups for suffix in suffixes)
        raise InputError(f"{argument} has no file to read ({names}); names that begin with '_' or '.' are skipped")
    for path in matching:
        yield (str(root.below(path)) if isinstance(root, StoreUri) else f"{str(root).rstrip('/')}/{path}"), path


def _parse(argument: str) -> _Input:
    location = StoreUri.parse(argument) or local_path(argument, "the input").absolute()
    if isinstance(location, StoreUri):
        fixed, glob = _split_glob(location.path, "*[")  # a question mark begins the query of a URI
        return _Input(argument, StoreUri(location.scheme, location.bucket, fixed), glob)
    if os.path.lexists(location):
        return _Input(argument, location)  # the name of an existing file may contain brackets
    fixed, glob = _split_glob(str(location), "*?[")
    return _Input(argument, Path(fixed or "/"), glob)


def _split_glob(path: str, magic: str) -> tuple[str, Glob | None]:
    """The parts of a path before the first that has magic characters, and the others, if there are any."""
    parts = path.split("/")
    first = next((i for i, part in enumerate(parts) if any(char in part for char in magic)), None)
    if first is None:
        return path, None
    return "/".join(parts[:first]), tuple(part for part in parts[first:] if part)


@lru_cache(maxsize=4096)
def _positions(glob: Glob, folder: str) -> frozenset[int]:
    """Positions in a glob that the next part of a path may match; the length of the glob below a folder that the whole
    glob matched. Empty if nothing in the folder can match."""
    last, positions = len(glob), {0}
    for name in [None, *filter(None, folder.split("/"))]:
        if name is not None:
            stay = {i for i in positions if i == last or glob[i] == ANY_DEPTH}
            positions = stay | {i + 1 for i in positions - stay if fnmatchcase(name, glob[i])}
        for i in range(last - 1):  # `**` also matches no folder
            if i in positions and glob[i] == ANY_DEPTH:
                positions.add(i + 1)
    return frozenset(positions)


def _accepts(glob: Glob, path: str, suffixes: Sequence[str]) -> bool:
    """Whether a glob finds a file; one that it does not name must have one of these suffixes."""
    folder, _, name = path.rpartition("/")
    positions, last = _positions(glob, folder), len(glob) - 1
    if last in positions and glob[last] != ANY_DEPTH and fnmatchcase(name, glob[last]):
        return True
    is_below = len(glob) in positions or (last in positions and glob[last] == ANY_DEPTH)
    return is_below and name.lower().endswith(tuple(suffixes))


def _visible(root: Location, paths: Iterable[str], glob: Glob) -> Iterator[str]:
    """The paths below a location that are not hidden."""
    for path in paths:
        parts = path.split("/")
        if DELTA_LOG in parts[:-1] and _positions(glob, folder := "/".join(parts[: parts.index(DELTA_LOG)])):
            raise InputError(
                f"{root.below(folder) if isinstance(root, StoreUri) else root / folder} is a Delta table, whose folder "
                "also holds files of other versions; name those of one version, which DeltaTable(path).file_uris() of "
                "the package deltalake lists"
            )
        if not any(map(is_hidden, parts)):
            yield path


def _walk(root: Path, glob: Glob) -> Iterator[str]:
    """Relative paths of files and Delta logs in the folders below a folder in which a glob can match. A folder is
    searched once for the same positions in the glob, and links to folders are followed last."""
    unread, visited = deque([""]), set()
    while unread:
        base = unread.popleft()
        folder, positions = root / base, _positions(glob, base)
        try:
            status = folder.stat()
            if (visit := (status.st_dev, status.st_ino, positions)) in visited or not positions:
                continue
            visited.add(visit)
            entries = _entries(folder)
        except OSError as error:
            raise InputError(f"cannot list {folder}: {error.strerror}") from error
        for name, is_folder, is_linked in entries:
            if is_folder and not is_hidden(name):
                (unread.append if is_linked else unread.appendleft)(f"{base}{name}/")
            elif not is_folder or name == DELTA_LOG:
                yield base + name + "/" * is_folder


def _entries(folder: Path) -> list[tuple[str, bool, bool]]:
    """The entries of a folder by name: whether each is a folder, and whether it is a symbolic link."""
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.is_dir(), entry.is_symlink()) for entry in entries)
