"""Check an ONNX file before the runtime opens it: it may neither read other files nor use foreign operators.

An ONNX file may say that its weights lie in another file, by any path; the runtime then reads that file. It may also
use operators of a domain that somebody else's library registers. A bundle needs no such operators, and no file but the
data files that it names and hashes itself. The graph is walked as protobuf, field by field: payloads are skipped by
their length, so that a gigabyte of weights costs nothing, and every length is checked against what surrounds it.

Field numbers are those of onnx.proto3 (ONNX 1.16).
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from ..errors import BundleError

LARGEST = 1 << 31
"""Bytes of one ONNX file: protobuf ends at 2 GiB."""
DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""Domains whose operators are part of ONNX Runtime."""
READERS = frozenset({"EPContext"})
"""Operators of these domains that read a file by a name in the graph."""
MOST_FIELDS = 2_000_000
MOST_NUMBERS = 1 << 29
DEEPEST = 16
MOST_ENTRIES = 8
"""Of the description of weights in another file."""
_ENTRIES = frozenset({"location", "offset", "length"})

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# ModelProto
_MODEL_GRAPH, _MODEL_TRAINING, _MODEL_FUNCTIONS = 7, 20, 25
# GraphProto
_GRAPH_NODE, _GRAPH_INITIALIZER, _GRAPH_SPARSE = 1, 5, 15
# NodeProto
_NODE_OPERATOR, _NODE_ATTRIBUTE, _NODE_DOMAIN = 4, 5, 7
# AttributeProto
_ATTRIBUTE_TENSORS, _ATTRIBUTE_GRAPHS, _ATTRIBUTE_SPARSE = (5, 10), (6, 11), (22, 23)
# TensorProto
_TENSOR_EXTERNAL, _TENSOR_LOCATION = 13, 14
# StringStringEntryProto
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
# SparseTensorProto
_SPARSE_TENSORS = (1, 2)


class _RefusedError(Exception):
    """What is wrong, to be told with the file's name."""


def check_graph(path: Path, external: Collection[str] = ()) -> None:
    """Refuse an ONNX file that reads other files, uses operators of other libraries, or is no ONNX file.

    ``external``: names of files in the same folder that may hold its weights.

    Raises:
        BundleError: with the reason.
    """
    try:
        size = path.stat().st_size
        if not 0 < size <= LARGEST:
            raise _RefusedError(f"has {size} bytes, expected some and at most 2 GiB")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _Walk(data, frozenset(external)).model()
    except _RefusedError as e:
        raise BundleError(f"{path} {e}; it was not written by `scorer export` and is refused") from e
    except OSError as e:
        raise BundleError(f"{path} cannot be read: {e.strerror}") from e


class _Walk:
    """One file. Messages are ranges ``(start, end)`` of it."""

    def __init__(self, data: mmap.mmap, external: frozenset[str] = frozenset()) -> None:
        self._data = data
        self._external = external
        self._fields = 0

    def model(self) -> None:
        graphs = 0
        for number, kind, start, end in self._read(0, len(self._data)):
            if number == _MODEL_GRAPH:
                graphs += 1
                self._graph(*self._message(kind, start, end), 0)
            elif number in (_MODEL_TRAINING, _MODEL_FUNCTIONS):
                raise _RefusedError("has functions or training steps of its own in addition to its graph")
        if graphs != 1:
            raise _RefusedError(f"is no ONNX model: it has {graphs} graphs")

    def _graph(self, start: int, end: int, depth: int) -> None:
        if depth > DEEPEST:
            raise _RefusedError(f"has graphs in graphs, more than {DEEPEST} deep")
        inner: dict[int, Callable[[int, int, int], None]] = {
            _GRAPH_NODE: self._node,
            _GRAPH_INITIALIZER: self._weight,
            _GRAPH_SPARSE: self._sparse,
        }
        for number, kind, at, to in self._read(start, end):
            if number in inner:
                inner[number](*self._message(kind, at, to), depth)

    def _node(self, start: int, end: int, depth: int) -> None:
        operator = domain = ""
        for number, kind, at, to in self._read(start, end):
            if number == _NODE_OPERATOR:
                operator = self._text(kind, at, to)
            elif number == _NODE_DOMAIN:
                domain = self._text(kind, at, to)
            elif number == _NODE_ATTRIBUTE:
                self._attribute(*self._message(kind, at, to), depth)
        if domain not in DOMAINS:
            raise _RefusedError(
                f"uses the operator {operator[:80]!r} of {domain[:80]!r}, which is not ONNX Runtime's own"
            )
        if operator in READERS:
            raise _RefusedError(f"uses the operator {operator!r}, which reads other files")

    def _attribute(self, start: int, end: int, depth: int) -> None:
        for number, kind, at, to in self._read(start, end):
            if number in _ATTRIBUTE_TENSORS:
                self._tensor(*self._message(kind, at, to), depth)
            elif number in _ATTRIBUTE_GRAPHS:
                self._graph(*self._message(kind, at, to), depth + 1)
            elif number in _ATTRIBUTE_SPARSE:
                self._sparse(*self._message(kind, at, to), depth)

    def _sparse(self, start: int, end: int, depth: int) -> None:
        for number, kind, at, to in self._read(start, end):
            if number in _SPARSE_TENSORS:
                self._tensor(*self._message(kind, at, to), depth)

    def _tensor(self, start: int, end: int, depth: int) -> None:
        for number, kind, at, _ in self._read(start, end):
            if number == _TENSOR_EXTERNAL or (number == _TENSOR_LOCATION and (kind != _VARINT or at != 0)):
                raise _RefusedError("has weights in another file (external data)")

    def _weight(self, start: int, end: int, depth: int) -> None:
        """A tensor of a graph, which may lie in a file that the bundle names, and nowhere else."""
        entries: dict[str, str] = {}
        external = False
        for number, kind, at, to in self._read(start, end):
            if number == _TENSOR_EXTERNAL:
                key, value = self._entry(*self._message(kind, at, to))
                if key not in _ENTRIES or key in entries:
                    raise _RefusedError(f"has weights in another file (external data), described by {key[:80]!r}")
                entries[key] = value
            elif number == _TENSOR_LOCATION:
                if kind != _VARINT or at not in (0, 1):
                    raise _RefusedError("has weights in another file (external data), of an unknown kind")
                external = at == 1
        if external != bool(entries) or (external and entries.get("location") not in self._external):
            where = entries.get("location", "")
            raise _RefusedError(f"has weights in another file (external data), {where[:80]!r}, not one of its bundle")
        for key in ("offset", "length"):
            if not entries.get(key, "0").isdecimal() or len(entries.get(key, "0")) > 16:
                raise _RefusedError(f"has weights in another file (external data) at {entries[key][:80]!r}")

    def _entry(self, start: int, end: int) -> tuple[str, str]:
        found = {_ENTRY_KEY: "", _ENTRY_VALUE: ""}
        for fields, (number, kind, at, to) in enumerate(self._read(start, end)):
            if number not in found or fields >= MOST_ENTRIES:
                raise _RefusedError("has weights in another file (external data), described in an unknown way")
            found[number] = self._text(kind, at, to)
        return found[_ENTRY_KEY], found[_ENTRY_VALUE]

    def _read(self, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Fields of a message: number, wire type, and where its bytes lie; for a varint its value stands first."""
        position = start
        while position < end:
            self._fields += 1
            if self._fields > MOST_FIELDS:
                raise _RefusedError(f"has more than {MOST_FIELDS:,} fields")
            key, position = self._varint(position, end)
            number, kind = key >> 3, key & 7
            if not 0 < number < MOST_NUMBERS:  # a reader that keeps 32 bits of it would see another field
                raise _RefusedError(f"is no ONNX model: byte {position} has the field number {number}")
            if kind == _VARINT:
                value, position = self._varint(position, end)
                yield number, kind, value, position
                continue
            if kind == _BYTES:
                length, position = self._varint(position, end)
            elif kind in (_FIXED32, _FIXED64):
                length = 4 if kind == _FIXED32 else 8
            else:
                raise _RefusedError(f"is no ONNX model: byte {position} has the wire type {kind}")
            if length > end - position:
                raise _RefusedError(f"is no ONNX model: the field at byte {position} reaches beyond what it is part of")
            yield number, kind, position, position + length
            position += length

    def _varint(self, position: int, end: int) -> tuple[int, int]:
        value = 0
        for shift in range(0, 70, 7):
            if position >= end:
                break
            byte = self._data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, position
        raise _RefusedError(f"is no ONNX model: the number at byte {position} does not end")

    def _message(self, kind: int, start: int, end: int) -> tuple[int, int]:
        if kind != _BYTES:
            raise _RefusedError(f"is no ONNX model: byte {start} should begin a message")
        return start, end

    def _text(self, kind: int, start: int, end: int) -> str:
        start, end = self._message(kind, start, end)
        return self._data[start : min(end, start + 1024)].decode("utf-8", "replace")
