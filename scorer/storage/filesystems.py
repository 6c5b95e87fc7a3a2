"""Resolve inputs (files, folders, globs and URIs) to shards, and the paths of their outputs below OUT."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..errors import InputError, OutputError, UsageError
from ..system.input_formats import Format, format_of, output_name, suffixes_of
from .listing import ANY_DEPTH, LocalPlace, Place, expand, is_hidden
from .local_paths import path_of_uri
from .location import SCHEMES, Location, StoreUri, check_stores_apart
from .objects.reading import StorePlace

LONGEST_NAME = 250
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


@dataclass(frozen=True)
class InputFile:
    """An input shard. ``uri``: absolute local path, or that of an object. ``relative``: POSIX path of its output below
    OUT."""

    uri: str
    relative: str

    @property
    def name(self) -> str:
        """The path of its output, but with the suffix of the input: what messages about the input call it."""
        own = self.uri.rpartition("/")[2]
        folder, slash, last = self.relative.rpartition("/")
        return folder + slash + own if output_name(own, "csv") == last else self.relative  # else it is of a piece


@dataclass(frozen=True)
class _Input:
    """An input as given: a place, and the pattern to match below it (``None``: all files of the format)."""

    given: str
    place: Place
    pattern: tuple[str, ...] | None = None


def resolve_inputs(inputs: Sequence[str], form: Format = "auto") -> list[InputFile]:
    """Find the shards of the inputs, sorted by the path of their output.

    The output of a file is OUT/<its name>; that of a file in a folder has its path below that folder, and that of a
    match of a glob its path below the fixed prefix. The output of a text file has the suffix ``.parquet`` in place of
    its own. Below the root, names that begin with ``_`` or ``.`` are skipped.

    Args:
        form: the format of the files; which of a folder are taken, see :func:`.input_formats.suffixes_of`.

    Raises:
        InputError: an input does not exist, has no file of the format, or is a Delta table.
        StoreError: a store cannot be opened, or refuses a request.
        UsageError: two inputs would have the same output, or a name or a URI cannot be used.
    """
    if not inputs:
        raise UsageError("no input was given; name files, folders, globs or URIs")
    found: dict[str, InputFile] = {}
    for given in inputs:
        for file in _files(_parse(given), form):
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


def _files(parsed: _Input, form: Format) -> list[InputFile]:
    """The shards of one input.

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
        return [InputFile(place.uri, output_name(place.name, format_of(place.name, form)))]
    pattern = parsed.pattern or (ANY_DEPTH,)
    found = next(filter(None, (sorted(set(expand(place, pattern, suffixes))) for suffixes in groups)), [])
    if not found and parsed.pattern is not None:
        raise InputError(f"{given} matches no file; check the pattern")
    if not found:
        names = ", ".join(f"*{suffix}" for suffixes in groups for suffix in suffixes)
        raise InputError(f"{given} has no file to read ({names}); names that begin with '_' or '.' are skipped")
    return [InputFile(place.below(one).uri, output_name(one, format_of(one, form))) for one in found]


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
