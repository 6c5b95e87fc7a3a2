"""Errors that this program raises on purpose.

::

    ScorerError                     exit code 2 unless noted
    ├── UsageError                  an option or argument that cannot be honoured
    │   ├── TemplateError           a template file that cannot be read or lacks a template
    │   └── ColumnError             an input column missing, of the wrong type, or in the way
    ├── OutputError                 the output folder is not ours, is in use, or cannot be written
    │   ├── DamagedFileError        a file of ours that does not decode
    │   └── SchemaError             an intact file of ours that another version wrote
    ├── InputError                  no input, or none of the inputs can be read
    │   └── ShardError              one shard that cannot be read; quarantined, the others go on
    │       └── UnseenInputError    an input that one machine cannot open, or sees changed, which another may read
    ├── BundleError                 a model bundle that is damaged, unknown or unfit
    ├── CheckpointError             a checkpoint that export refuses, with the reason
    ├── DeviceError                 a device or provider that was named and does not start
    │   └── CallError               a call of a model that fails on a device that has started
    └── MissingDependencyError      an optional extra is needed and not installed

A message is one line: the problem, its place, the value found, and how to fix it. The command line prints it
and exits; a library user catches :class:`ScorerError`. No message shows the user information of a URL.
"""

from __future__ import annotations

import re

_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/\s?#]*)@")


def install_hint(*extras: str) -> str:
    """Advice to install extras of this package, for users of an installed package and of a clone."""
    names, noun = ",".join(extras), "extra" if len(extras) == 1 else "extras"
    return f"install the {noun} {names} (pip install 'd2t-scorer[{names}]', in a clone pip install '.[{names}]')"


def without_user_info(text: str) -> str:
    """A text with ``***`` for the user and the password in every URL. In an Azure URI a container has that place."""
    return _AUTHORITY.sub(_masked, text)


def _masked(match: re.Match[str]) -> str:
    scheme, user = match.groups()
    is_container = scheme.lower() in ("abfs", "abfss") and ":" not in user
    return match[0] if is_container else f"{scheme}://***@"


class ScorerError(Exception):
    """Root of all errors raised on purpose. ``exit_code`` is what the command line returns."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(without_user_info(message))


class UsageError(ScorerError):
    """An option or argument that cannot be honoured."""


class TemplateError(UsageError):
    """A template file that cannot be read, or that lacks a template under ``--missing-template error``."""


class ColumnError(UsageError):
    """An input column that is missing, has the wrong type, or has the name of an output column."""


class OutputError(ScorerError):
    """An output folder that is not ours, is held by another run, or cannot be written."""


class DamagedFileError(OutputError):
    """A file of ours that does not decode; names the field."""


class SchemaError(OutputError):
    """An intact file of ours with another schema number."""


class InputError(ScorerError):
    """No input was found, or none of the inputs can be read."""


class ShardError(InputError):
    """One shard that cannot be read. A run sets it aside and goes on.

    Args:
        kind: the short word that ``_failed/`` records: ``unreadable``, ``memory``, ``crashed``, ``columns``.
    """

    def __init__(self, message: str, kind: str = "unreadable") -> None:
        super().__init__(message)
        self.kind = kind


class UnseenInputError(ShardError):
    """An input that this machine cannot open, or that changed since it was first looked at; another may see it."""


class BundleError(ScorerError):
    """A bundle that is damaged, newer than this program, or unfit for the task."""


class CheckpointError(ScorerError):
    """A checkpoint that export refuses: pickled weights, remote code, unknown architecture or labels."""


class DeviceError(ScorerError):
    """A device that was named and does not start; never replaced by another one in silence."""


class CallError(DeviceError):
    """A call of a model that fails, other than for want of memory, on a device that has started."""


class MissingDependencyError(ScorerError):
    """An optional part is needed and its extra is not installed."""


def first_line(error: BaseException) -> str:
    """The message of an exception of another library as one line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def count_of(number: int, noun: str) -> str:
    """A number with its noun, as messages have it: ``2 shards``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
