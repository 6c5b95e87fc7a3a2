"""The input files of a run: files, folders, globs and URIs resolved to names, and the paths of their outputs below OUT.

Nothing is opened here; :mod:`.shards` does that, in a worker.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple, Self
from urllib.parse import quote

from ..errors import InputError, OutputError, UsageError
from ..system.input_formats import Format, format_of, output_name, suffixes_of
from .local_paths import expand_home, is_hidden, path_of_uri
from .location import SCHEMES, Location, StoreUri, check_stores_apart
from .shards import InputFile
from .store import open_store

LONGEST_NAME = 250
ANY_DEPTH = "**"
DELTA_LOG = "_delta_log"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
Kind = Literal["file", "folder", "absent"]


@dataclass(frozen=True)
class _Input:
    """An input as given: a place, and the pattern to match below it (``None``: all files of the format)."""

    given: str
    place: Place
    pattern: tuple[str, ...] | None = None


def find_files(inputs: Sequence[str], form: Format = "auto", delimiter: str | None = None) -> list[InputFile]:
    """Find the files of the inputs, sorted by the path of their output.

    The output of a file is OUT/<its name>; that of a file in a folder has its path below that folder, and that of a
    match of a glob its path below the fixed prefix. The output of a text file has the suffix ``.parquet`` in place of
    its own. Below the root, names that begin with ``_`` or ``.`` are skipped.

    Args:
        form: the format of the files; which of a folder are taken, see :func:`.input_formats.suffixes_of`.
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
        for file in _files(_parse(given), form, delimiter):
            earlier = found.setdefault(file.relative, file)
            if not _same(earlier.uri, file.uri):
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
        if not isinstance(parsed.place, LocalPlace):
            continue
        path = Path(parsed.place.path)
        for place in {path.resolve(), path}:
            if place.is_relative_to(target) and (parsed.pattern is None or place != target):
                raise OutputError(f"the input {given} is inside the output folder {out}; choose another --out")
            if target.is_relative_to(place) and path.is_dir():
                parts = target.relative_to(place).parts
                if parsed.pattern is None or _could_match(parsed.pattern, parts):
                    raise OutputError(
                        f"the output folder {out} is inside the input {given}, so the next run would score its own "
                        "outputs; choose an --out outside of the input"
                    )
        if parsed.pattern is not None:
            apart: dict[Path, bool] = {}  # by folder: resolving the path of every shard would take seconds
            for file in _files(parsed, form):
                path = Path(file.uri)
                if path.parent not in apart:
                    apart[path.parent] = not path.parent.resolve().is_relative_to(target)
                if not apart[path.parent] or (path.is_symlink() and path.resolve().is_relative_to(target)):
                    raise OutputError(f"the input {file.uri} is inside the output folder {out}; choose another --out")


def _files(parsed: _Input, form: Format, delimiter: str | None = None) -> list[InputFile]:
    """The files of one input.

    Raises:
        InputError: there are none.
    """
    given, place, groups = parsed.given, parsed.place, suffixes_of(form)
    kind = place.kind() if parsed.pattern is None else "folder"
    if kind == "absent":
        raise InputError(f"{given} does not exist")
    if kind == "file":
        if is_hidden(place.name):
            raise UsageError(f"{given}: files whose names begin with '_' or '.' are not scored; rename it")
        return [_input_file(place, place.name, form, delimiter)]
    pattern = parsed.pattern or (ANY_DEPTH,)
    found = next(filter(None, (sorted(set(expand(place, pattern, suffixes))) for suffixes in groups)), [])
    if not found and parsed.pattern is not None:
        raise InputError(f"{given} matches no file; check the pattern")
    if not found:
        names = ", ".join(f"*{suffix}" for suffixes in groups for suffix in suffixes)
        raise InputError(f"{given} has no file to read ({names}); names that begin with '_' or '.' are skipped")
    return [_input_file(place.below(one), one, form, delimiter) for one in found]


def _input_file(place: Place, relative: str, form: Format, delimiter: str | None) -> InputFile:
    found = format_of(relative, form)
    text = found in ("csv", "tsv")
    return InputFile(
        uri=place.uri, relative=output_name(relative, found), form=found, delimiter=delimiter if text else None
    )


def _parse(given: str) -> _Input:
    scheme = _SCHEME.match(given)
    if scheme is not None:
        magic = "*["  # a question mark begins the query of a URI
        place: Place = _remote(given) if scheme[1].lower() != "file" else LocalPlace.of(path_of_uri(given, "the input"))
    else:
        if not given or "\0" in given:
            raise UsageError(f"{given!r} is not a path; name a file, a folder, a glob or a URI")
        magic = "*?["
        place = LocalPlace.of(given)
        if os.path.lexists(place.path):
            return _Input(given, place)  # the name of an existing file may contain brackets
    parts = place.path.split("/")
    first = next((i for i, part in enumerate(parts) if any(c in part for c in magic)), None)
    if first is None:
        return _Input(given, place)
    pattern = tuple(part for part in parts[first:] if part)
    return _Input(given, place.at("/".join(parts[:first]) or "/"), pattern)


def _remote(given: str) -> Place:
    store = StoreUri.parse(given)
    if store is None:
        names = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise UsageError(f"{given}: inputs are paths, file:// or one of {names}; copy the data to one of these")
    return StorePlace.of(store)


def refuse_overlap(relatives: Iterable[str]) -> None:
    """Refuse outputs that need a folder where another output or receipt is a file, or a name too long for a receipt.

    Raises:
        UsageError: names the outputs.
    """
    found = set(relatives)
    _refuse_look_alikes(found)
    for relative in sorted(found):
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


def _refuse_look_alikes(found: Iterable[str]) -> None:
    """Refuse two outputs whose names are equal on some file system: equal after NFC and case folding."""
    seen: dict[str, str] = {}
    for relative in sorted(found):
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", relative).casefold())
        other = seen.setdefault(folded, relative)
        if other != relative:
            raise UsageError(
                f"the outputs {other} and {relative} differ only in case or in the composition of characters, and are "
                "the same file on some file systems; rename one of the inputs"
            )


def _could_match(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether something in the folder ``parts`` could be found by ``pattern``."""
    for wanted, part in zip(pattern, parts, strict=False):
        if wanted == "**":
            return True
        if not fnmatchcase(part, wanted):
            return False
    return True


def _same(one: str, other: str) -> bool:
    """Whether two URIs refer to the same file."""
    return one == other or (not _SCHEME.match(one + other) and Path(one).resolve() == Path(other).resolve())


class Entry(NamedTuple):
    """A name in a folder. ``is_linked``: it is a symbolic link, to a folder or a file."""

    name: str
    is_folder: bool
    is_linked: bool = False


@dataclass(frozen=True)
class Place(ABC):
    """A path in a store of files; its parts are separated by ``/``."""

    path: str

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def at(self, path: str) -> Self:
        return replace(self, path=path)

    def below(self, relative: str) -> Self:
        return self.at(f"{self.path.rstrip('/')}/{relative}")

    @property
    @abstractmethod
    def uri(self) -> str: ...

    @abstractmethod
    def kind(self) -> Kind: ...

    @abstractmethod
    def entries(self) -> list[Entry]:
        """The entries of a folder, sorted by name."""

    @abstractmethod
    def identity(self) -> Hashable:
        """A value that is equal for two paths of the same folder."""


def expand(place: Place, pattern: Sequence[str], suffixes: Sequence[str]) -> Iterator[str]:
    """Relative paths of the files that a glob finds below a folder; ``**`` stands for any number of folders.

    A folder that the whole glob matches stands for the Parquet files in it, as if the shell had expanded the glob.
    Links to folders are followed last. Each folder is searched once for each part of the glob: a folder with several
    links to it appears under the first of its paths.

    Raises:
        InputError: a folder cannot be listed, contains a link to itself, or is a Delta table.
    """
    if place.kind() != "folder":
        return
    parts = _collapsed(pattern)
    plain = [_Visit(place, "", 0, set())]
    linked: deque[_Visit] = deque()
    seen = set()
    while plain or linked:
        visit = plain.pop() if plain else linked.popleft()
        key = visit.place.identity()
        if visit.is_linked and key in visit.above:
            raise InputError(f"{visit.place.path} is a link to a folder that contains it; remove it or name the files")
        if (key, visit.part) in seen:
            continue
        seen.add((key, visit.part))
        here = {key, *visit.above}
        deeper: list[_Visit] = []
        for entry in visit.place.entries():
            if is_hidden(entry.name):
                if entry.name == DELTA_LOG and entry.is_folder:
                    raise InputError(
                        f"{visit.place.path} is a Delta table, whose folder also holds files of other versions; name "
                        "the files of one version: DeltaTable(path).file_uris() of the package deltalake lists them"
                    )
                continue
            for part, is_found in _matches(parts, visit.part, entry, tuple(suffixes)):
                if is_found:
                    yield visit.base + entry.name
                    continue
                place, base = visit.place.below(entry.name), f"{visit.base}{entry.name}/"
                (linked if entry.is_linked else deeper).append(_Visit(place, base, part, here, entry.is_linked))
        plain += reversed(deeper)


class _Visit(NamedTuple):
    """A folder to search, from a part of the glob on. ``base``: its path below the root, with a trailing slash;
    ``above``: the folders on the path to it."""

    place: Place
    base: str
    part: int
    above: set[Hashable]
    is_linked: bool = False


def _collapsed(pattern: Sequence[str]) -> list[str]:
    """The glob with each run of ``**`` replaced by a single one, which means the same."""
    return [part for i, part in enumerate(pattern) if part != ANY_DEPTH or i == 0 or pattern[i - 1] != ANY_DEPTH]


def _matches(parts: Sequence[str], at: int, entry: Entry, suffixes: tuple[str, ...]) -> Iterator[tuple[int, bool]]:
    """How an entry matches the glob from one of its parts on: (part to continue with, whether it is a match)."""
    last = len(parts) - 1
    wanted = parts[at] if at <= last else ANY_DEPTH  # past the end: everything below a folder that matched
    if wanted != ANY_DEPTH:
        if fnmatchcase(entry.name, wanted):
            if entry.is_folder:
                yield at + 1, False
            elif at == last:
                yield at, True
    elif at >= last:
        if entry.is_folder:
            yield at, False
        elif entry.name.lower().endswith(suffixes):
            yield at, True
    else:
        if entry.is_folder:
            yield at, False
        yield from _matches(parts, at + 1, entry, suffixes)  # `**` also matches no folder


class LocalPlace(Place):
    """An absolute path of this machine."""

    @classmethod
    def of(cls, path: str) -> Self:
        return cls(str(expand_home(Path(path), "the input").absolute()))

    @property
    def uri(self) -> str:
        return self.path

    def kind(self) -> Kind:
        try:
            mode = Path(self.path).stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return "absent"
        except OSError as error:
            raise InputError(f"cannot look at {self.path}: {error.strerror}") from error
        return "folder" if stat.S_ISDIR(mode) else "file"

    def entries(self) -> list[Entry]:
        try:
            with os.scandir(self.path) as found:
                return sorted(Entry(entry.name, entry.is_dir(), entry.is_symlink()) for entry in found)
        except OSError as error:
            raise InputError(f"cannot list {self.path}: {error.strerror}") from error

    def identity(self) -> Hashable:
        try:
            found = Path(self.path).stat()
        except OSError as error:
            raise InputError(f"cannot look at {self.path}: {error.strerror}") from error
        return found.st_dev, found.st_ino


@dataclass(frozen=True)
class StorePlace(Place):
    """A key in a bucket, whose path begins with a slash; a folder is the keys below it.

    ``keys``: of all objects at or below the first place that was looked at.

    Raises:
        StoreError: the store cannot be opened, or refuses a request.
    """

    bucket: StoreUri
    keys: tuple[str, ...]

    @classmethod
    def of(cls, uri: StoreUri) -> Self:
        bucket = StoreUri(uri.scheme, uri.bucket, "")
        fixed = re.split(r"[^/]*[*\[]", uri.path, maxsplit=1)[0].strip("/")
        return cls(f"/{uri.path}", bucket, tuple(open_store(bucket, patient=False).list(fixed)))

    @property
    def uri(self) -> str:
        return f"{self.bucket.root}/{quote(self._key)}"

    def kind(self) -> Kind:
        if self._key in self.keys:
            return "file"
        return "folder" if self._below() else "absent"

    def entries(self) -> list[Entry]:
        names = {(first, bool(slash)) for first, slash, _ in (key.partition("/") for key in self._below())}
        return [Entry(name, is_folder) for name, is_folder in sorted(names)]

    def identity(self) -> Hashable:
        return self._key

    def _below(self) -> list[str]:
        start = f"{self._key}/" if self._key else ""
        return [key[len(start) :] for key in self.keys if key.startswith(start)]

    @property
    def _key(self) -> str:
        return self.path.strip("/")
