"""The facts of a window by predicate, without a Python object for each row: only distinct values pass through Python.

What is wanted of a fact is its predicate (and its object, where a template depends on it), and a number that tells
inputs apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..metric.facts import FactTable, encode
from ..metric.formats import as_elements, is_text, part_columns
from ..metric.inputs import FactForm, read_facts
from ..scoring.counts import OTHER_PREDICATES

MOST_SENTENCES = 10_000
"""Of facts that are sentences, the first so many distinct ones are counted apart."""

Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Names:
    """Strings as small numbers, in order of first appearance."""

    names: list[str] = field(default_factory=list)
    _codes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._codes

    def code(self, name: str) -> int:
        """The number of a string, a new one for a new string."""
        found = self._codes.setdefault(name, len(self.names))
        if found == len(self.names):
            self.names.append(name)
        return found

    def codes(self, values: Sequence[bytes]) -> Ints:
        """Numbers of UTF-8 strings without leading and trailing blanks, one dummy -1 at the end (for null)."""
        return np.array([*(self.code(value.decode(errors="replace").strip()) for value in values), -1], np.int64)


@dataclass
class Facts:
    """The facts of a window. ``lengths``: int64, *Shape:* (rows,). ``predicate``, ``object``: int64, *Shape:*
    (facts,), numbers in the reader's ``predicates`` and ``objects``; -1 for null and for unwanted objects. ``hash``:
    uint64, *Shape:* (facts,), of all parts of a fact."""

    lengths: Ints
    predicate: Ints
    object: Ints
    hash: Hashes

    @property
    def offsets(self) -> Ints:
        """*Shape:* (rows + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths)])

    def inputs(self) -> Hashes:
        """A number for the facts of each row, in their order, 0 without any. uint64, *Shape:* (rows,)."""
        offsets = self.offsets
        place = np.arange(len(self.hash)) - np.repeat(offsets[:-1], self.lengths)
        sums = np.zeros(len(place) + 1, np.uint64)  # modulo 2^64, so that differences are exact
        np.cumsum(self.hash * (2 * place + 3).astype(np.uint64), out=sums[1:])
        return sums[offsets[1:]] - sums[offsets[:-1]]


class FactReader:
    """Reads the facts of window after window, with numbers that stay the same.

    A fact that is a sentence counts as a predicate; from :data:`MOST_SENTENCES` on, as one of the other predicates.

    Args:
        form: how the column holds the facts.
        by_object: tells of a predicate whether the objects of its facts are wanted too; ``None``: never.
        key, schema: what names the subject of attributes, and the columns of the output: one of these, or a key.

    ``subject``: the column that names the subjects, if there is one.
    """

    def __init__(
        self,
        form: FactForm,
        by_object: Callable[[str], bool] | None = None,
        key: str | None = None,
        schema: pa.Schema | None = None,
    ) -> None:
        self.predicates, self.objects = Names(), Names()
        self._key = key
        self.subject = key if form == "attributes" and schema is not None and key in schema.names else None
        self._form, self._by_object = form, by_object or (lambda predicate: False)
        self._wanted: list[bool] = []

    def read(self, column: pa.Array, subjects: pa.Array | None = None) -> Facts:
        """The facts of a column. ``subjects``: the column ``subject``."""
        if self._form == "triples" and not is_text(column.type):
            flat = as_elements(pc.list_flatten(column))
            if pa.types.is_struct(flat.type):
                lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
                return self._from_structs(lengths.astype(np.int64), flat)
        table = pa.table({"facts": column})
        if self._key is not None and subjects is not None:
            table = table.append_column(self._key, subjects)
        return self._from_parsed(read_facts(table, "facts", self._form, self._key))

    def _from_structs(self, lengths: Ints, flat: pa.Array) -> Facts:
        """Most facts are structs, whose parts are split in Arrow already: only distinct parts pass through Python."""
        children = {part: encode(child) for part, child in part_columns(flat).items()}
        codes, values = children["predicate"]
        predicate = self.predicates.codes(values)[codes]
        objects = np.full(len(predicate), -1, np.int64)
        wanted = self._wants(predicate)
        if wanted.any():
            codes, values = children["object"]
            used, inverse = np.unique(codes[wanted], return_inverse=True)
            objects[wanted] = self.objects.codes([values[code] for code in used[used >= 0]])[inverse - (used[0] < 0)]
        found = np.zeros(len(predicate), np.uint64)
        for codes, values in children.values():
            found = (found ^ hashes(values)[codes]) * _ODD
        return Facts(lengths, predicate, objects, found)

    def _from_parsed(self, parsed: FactTable) -> Facts:
        distinct, ids = parsed.distinct, parsed.ids
        predicate = np.array([self._predicate(one.predicate) for one in distinct], np.int64)
        wanted = self._wants(predicate).tolist()
        objects = [self.objects.code(t.object) if w else -1 for t, w in zip(distinct, wanted, strict=True)]
        found = hashes(["\0".join(triple).encode("utf-8", "surrogatepass") for triple in distinct])
        return Facts(parsed.lengths, predicate[ids], np.array(objects, np.int64)[ids], found[ids])

    def _wants(self, predicate: Ints) -> npt.NDArray[np.bool_]:
        names = self.predicates.names
        self._wanted += [self._by_object(name) for name in names[len(self._wanted) :]]
        return np.array([*self._wanted, False], bool)[predicate]

    def _predicate(self, name: str) -> int:
        bounded = self._form in ("facts", "attributes") and len(self.predicates) >= MOST_SENTENCES
        return self.predicates.code(OTHER_PREDICATES if bounded and name not in self.predicates else name)


def hashes(values: Sequence[bytes]) -> Hashes:
    """Numbers that tell values apart, one dummy 0 at the end (for null). uint64, *Shape:* (values + 1,)."""
    digests = b"".join(blake2b(value, digest_size=8).digest() for value in values)
    return np.frombuffer(digests + bytes(8), np.uint64)
