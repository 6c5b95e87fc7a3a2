"""Row numbers by row key, in 12 bytes a key: what a join with earlier outputs holds in memory.

Keys are digests, so their first eight bytes are as good as random numbers: they partition evenly, and almost never
agree by chance. Only they are kept, with a 32-bit row number; when a row is fetched, its whole key is compared. Where
two keys share their first eight bytes, one of them is not found, and its row is scored again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import UsageError

PARTITIONS, MOST_ROWS = 256, 2**32
_SHIFT, _BATCH = np.uint64(56), 1 << 20
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


def key_words(keys: pa.Array) -> Words:
    """16-byte keys as two numbers each. fixed_size_binary(16), *Shape:* (rows,) → uint64, (rows, 2)."""
    raw = np.frombuffer(keys.buffers()[1], np.uint64) if len(keys) else np.empty(0, np.uint64)
    return raw[2 * keys.offset : 2 * (keys.offset + len(keys))].reshape(-1, 2)


class KeyIndex:
    """Row numbers by key. Keys are added in the order of their row numbers; of rows with one key, the first is kept.

    ``keys``: distinct keys; ``nbytes``: of its arrays. Both are known, and keys are found, once it is finished.
    """

    def __init__(self) -> None:
        self.keys = self.nbytes = 0
        self._runs: list[list[tuple[Words, npt.NDArray[np.uint32]]]] = [[] for _ in range(PARTITIONS)]
        self._pending: list[tuple[Words, npt.NDArray[np.uint32]]] = []

    def add(self, words: Words, numbers: Numbers) -> None:
        """Add keys by their first words, and their row numbers, larger than all before. *Shape:* (n,) each.

        Raises:
            UsageError: a row number needs more than 32 bits.
        """
        if not len(words):
            return
        if int(numbers[-1]) >= MOST_ROWS:
            raise UsageError(f"the earlier outputs have more than {MOST_ROWS:,} rows together; give fewer of them")
        self._pending.append((words.copy(), numbers.astype(np.uint32)))
        if sum(len(part) for part, _ in self._pending) >= _BATCH:
            self._scatter()

    def finish(self) -> KeyIndex:
        """Sort each partition by itself, so that no copy of the whole is ever needed."""
        self._scatter()
        for number, runs in enumerate(self._runs):
            words = np.concatenate([run[0] for run in runs]) if runs else np.empty(0, np.uint64)
            numbers = np.concatenate([run[1] for run in runs]) if runs else np.empty(0, np.uint32)
            order = np.argsort(words, kind="stable")  # so that among equals the lowest row number comes first
            words = words[order]
            first = np.concatenate([[True], words[1:] != words[:-1]])[: len(words)]
            words, numbers = words[first], numbers[order][first]
            self._runs[number] = [(words, numbers)]
            self.keys += len(words)
            self.nbytes += words.nbytes + numbers.nbytes
        return self

    def find(self, words: Words) -> Numbers:
        """Row numbers of keys given by their first words, -1 where there is none. *Shape:* (n,) → int64, (n,)."""
        found = np.full(len(words), -1, np.int64)
        order = np.argsort(words, kind="stable")
        for number, start, end in _split(words[order]):
            known, numbers = self._runs[number][0]
            if not len(known):
                continue
            wanted = words[order[start:end]]
            at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
            hit = known[at] == wanted
            found[order[start:end][hit]] = numbers[at[hit]]
        return found

    def count_between(self, first: int, end: int) -> int:
        """How many of the row numbers lie in [first, end)."""
        return sum(int(((numbers >= first) & (numbers < end)).sum()) for ((_, numbers),) in self._runs)

    def _scatter(self) -> None:
        if not self._pending:
            return
        words = np.concatenate([part[0] for part in self._pending])
        numbers = np.concatenate([part[1] for part in self._pending])
        self._pending = []
        order = np.argsort(words, kind="stable")
        words, numbers = words[order], numbers[order]
        for number, start, end in _split(words):
            self._runs[number].append((words[start:end].copy(), numbers[start:end].copy()))


def _split(words: Words) -> list[tuple[int, int, int]]:
    """The partitions that occur in sorted words: (number, start, end)."""
    bounds = np.searchsorted((words >> _SHIFT).astype(np.int64), np.arange(PARTITIONS + 1))
    spans = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    return [(number, start, end) for number, (start, end) in enumerate(spans) if end > start]
