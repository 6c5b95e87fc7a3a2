"""Files that a user names: reports, histories, converted data. They are written according to the file of that name:

- Nothing, or a regular file: replaced atomically, with the same permissions.
- A device, a pipe, ``/dev/stdout``: written to, never replaced; not with Parquet.
- A symbolic link: its target is replaced in the target's folder, and the link is kept; a link without a target, or
  one that another user made, is refused. (The kernel has its own rules for links in shared folders, but they do not
  apply to links that a program resolves by itself.)
- A Parquet file: refused, unless the option writes Parquet itself. It holds rows, and no report may replace them.
- An input of the same command, or of the run whose output it reads: refused, whatever its format.
- A name that a run owns: every visible name in an output folder, since it can be that of an output after the next run,
  and some hidden ones. Others are free, such as ``_report.html``.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from ..errors import OutputError, UsageError
from ..system.files import Format, suffixes_of
from .local_files import atomic_write, discard, output_errors, sync_folder, temporary_name
from .location import is_hidden, local_path
from .output_folder import OutputFolder
from .receipts import RECEIPTS, WrittenFile
from .run_plan import OWN_NAMES, PLAN
from .windows import ShardWriter

_DESCRIPTOR = re.compile(r"/proc/(\d+)/fd/(\d+)")
_MOST_LINKS = 40


class _Target(NamedTuple):
    """A file to write."""

    path: Path
    """Path of the file, behind all links."""
    mode: int | None = None
    """Permissions of an existing regular file; ``None`` if there is none."""
    is_stream: bool = False
    """Whether to write to it instead of replacing it."""
    descriptor: int | None = None
    """Descriptor of this process that the path refers to; ``None`` for any other path."""


def write_user_file(path: Path, content: bytes, option: str, *, is_parquet: bool = False) -> None:
    """Write a file that a user named, in a folder that exists: a missing one is more often a mistake than meant.

    Args:
        path: path of the file.
        content: its content.
        option: name of the option with the path, for messages.
        is_parquet: whether the content is a Parquet file, so that it may replace one.

    Raises:
        UsageError: the path is a URI.
        OutputError: it belongs to a run, is a link that is not followed, is a Parquet file, or cannot be written; an
            earlier file of that name is unchanged.
    """
    target = _target(path, option, is_parquet)
    if not target.is_stream:
        atomic_write(target.path, content, mode=target.mode)
        return
    with output_errors("write", path), os.fdopen(_open(target), "wb") as file:
        file.write(content)


def parquet_target(path: Path, option: str) -> Path:
    """The path that a writer of Parquet replaces: that of the user's file, or the target of its link.

    Raises:
        UsageError, OutputError: see :func:`write_user_file`.
    """
    return _target(path, option, is_parquet=True).path


def check_user_file(
    path: Path, option: str, *, inputs: Iterable[str | Path] = (), form: Format = "auto", is_parquet: bool = False
) -> None:
    """Refuse early the paths that :func:`write_user_file` would refuse, and the inputs of the command; writes nothing.

    Args:
        path: path of the file.
        option: name of the option with the path, for messages.
        inputs: inputs of the command: files, folders, patterns, ``NAME=FILE``; URIs of stores are ignored.
        form: format of the inputs.
        is_parquet: see :func:`write_user_file`. Parquet files in a folder or of a pattern are not looked for then.

    Raises:
        UsageError, OutputError: see :func:`write_user_file`.
    """
    target = _target(path, option, is_parquet)
    if target.mode is None:
        return
    arguments = [str(argument) for argument in inputs]
    for out in tuple(arguments):
        with suppress(UsageError, OSError):  # not an output
            plan = OutputFolder(local_path(out)).read_plan(lambda message: None)
            arguments += [record.uri for record in plan.inputs.values()] if plan is not None else []
    for argument in arguments:
        if _is_input(target.path, argument, form, is_parquet):
            raise OutputError(
                f"{option}: {path} is an input ({argument}), which is never overwritten; name another file"
            )


def _is_input(file: Path, argument: str, form: Format, is_parquet: bool) -> bool:
    """Whether a command with an argument reads an existing file. Errs on the side of yes."""
    for candidate in {argument, argument.partition("=")[2]}:
        with suppress(UsageError, OSError, RuntimeError, ValueError):  # not a path of this machine
            path = local_path(candidate).absolute()
            if path.exists() and path.samefile(file):
                return True
            fixed = next((n for n, part in enumerate(path.parts) if glob.has_magic(part)), len(path.parts))
            folder, pattern = Path(*path.parts[:fixed]).resolve(), "/".join(path.parts[fixed:])
            below = file.resolve().relative_to(folder)
            if (folder / "bundle.json").is_file():
                return True
            suffixes = [suffix for group in (*suffixes_of("auto"), *suffixes_of(form), (".xml",)) for suffix in group]
            is_read = file.name.lower().endswith(tuple(suffixes))
            if pattern:
                is_read = fnmatchcase(str(below), pattern.replace("**/", "*"))
            if is_read and not is_parquet and not any(map(is_hidden, below.parts)):
                return True
    return False


def _target(path: Path, option: str, is_parquet: bool) -> _Target:
    """Target of a path: the file that is written, at the end of its links."""
    local_path(path, option)
    file, hops = path, 0
    with output_errors("write", path):
        while True:
            descriptor = _DESCRIPTOR.fullmatch(f"{os.path.realpath(file.parent)}/{file.name}")
            if descriptor is not None and int(descriptor[1]) == os.getpid():
                target = _Target(file, is_stream=True, descriptor=int(descriptor[2]))
                break
            _refuse_owned(file, option)
            try:
                status = file.lstat()
            except FileNotFoundError:
                if file == path and file.parent.is_dir():
                    return _Target(file)
                raise OutputError(
                    f"{option}: {file} does not exist, nor does a folder for it, or {path} is a link to it; create "
                    "the folder, or name the file itself"
                ) from None
            if not stat.S_ISLNK(status.st_mode):
                mode = stat.S_IMODE(status.st_mode) & 0o777 if stat.S_ISREG(status.st_mode) else None
                target = _Target(file, mode, is_stream=mode is None)
                break
            if status.st_uid not in (0, os.geteuid()) or (hops := hops + 1) > _MOST_LINKS:
                raise OutputError(
                    f"{option}: {file} is a link that another user made (uid {status.st_uid}), or is part of a cycle "
                    "of links, and is not followed; name the file itself"
                )
            file = file.parent / file.readlink()
    if target.is_stream and (is_parquet or file.is_dir()):
        raise OutputError(f"{option}: {path} is a folder, a device or a pipe; name a regular file")
    if target.mode is not None and not is_parquet:
        try:
            with file.open("rb") as opened:
                holds_rows = opened.read(4) == b"PAR1"
        except PermissionError:  # it may be replaced by one who cannot read it; nothing says that it holds rows
            holds_rows = file.suffix == ".parquet"
        if holds_rows:
            raise OutputError(f"{option}: {path} is a Parquet file, which is not replaced; name another file")
    return target


def _refuse_owned(path: Path, option: str) -> None:
    file = Path(os.path.realpath(path.parent), path.name)
    for out in file.parents:
        if (out / PLAN).is_file() or (out / RECEIPTS).is_dir():
            parts = file.relative_to(out).parts
            if parts[0] in OWN_NAMES or not any(map(is_hidden, parts)):
                raise OutputError(
                    f"{option}: {path} is in the output folder {out} of `scorer run`, and its name is reserved for "
                    f"the run; choose a path outside of it, or a name that begins with an underscore, such as "
                    f"{out / '_report.html'}"
                )


def _open(target: _Target) -> int:
    """A descriptor for writing to a device or a pipe, never through a link that came meanwhile.

    Raises:
        OutputError: a pipe has no reader.
        OSError: it cannot be opened.
    """
    if target.descriptor is not None:
        return os.dup(target.descriptor)
    # Non-blocking, because opening a pipe would wait for its reader without limit.
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(target.path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO and target.path.is_fifo():
            raise OutputError(f"cannot write {target.path}: nothing reads this named pipe; start its reader") from error
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def write_parquet(path: Path, tables: Sequence[pa.Table], metadata: Mapping[str, str] | None = None) -> WrittenFile:
    """Write tables of one schema, each as a row group, to a Parquet file that appears only when it is complete.

    Raises:
        OutputError: it cannot be written; an earlier file is unchanged.
    """
    temporary = path.with_name(temporary_name())
    writer = ShardWriter(temporary, tables[0].schema, metadata=metadata, path=path)
    try:
        for table in tables:
            writer.write(table)
        parquet_file = writer.finish()
        with output_errors("write", path):
            temporary.replace(path)
            sync_folder(path.parent)
        return parquet_file
    finally:
        writer.abandon()
        discard(temporary)
