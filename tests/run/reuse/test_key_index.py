"""The index of row keys, against a plain dictionary; its size in the slow suite."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from scorer.run.reuse import KeyIndex, key_words
from tests.conftest import ROOT


def keys_of(raw: bytes) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(raw) // 16, [None, pa.py_buffer(raw)])


def test_it_finds_what_a_dictionary_finds() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**64, 20_000, np.uint64)
    words = np.concatenate([words, words[rng.integers(0, len(words), 5_000)]])  # keys that occur twice and more
    known: dict[int, int] = {}
    for number, word in enumerate(words.tolist()):
        known.setdefault(word, number)
    parts = np.split(np.arange(len(words)), range(777, len(words), 777))
    index = KeyIndex(((words[part], part) for part in parts), len(words))
    asked = np.concatenate([rng.permutation(words), rng.integers(0, 2**64, 5_000, np.uint64)])
    assert index.find(asked).tolist() == [known.get(word, -1) for word in asked.tolist()]
    assert len(index) == len(known)
    assert index.count_between(100, 20_000) == 19_900


def test_words_are_the_bytes_of_the_keys_also_of_a_slice() -> None:
    raw = np.random.default_rng(2).bytes(16 * 9)
    sliced = keys_of(raw).slice(3, 4)
    assert key_words(sliced).tobytes() == raw[48:112]
    assert key_words(sliced).shape == (4, 2)
    assert key_words(keys_of(b"")).shape == (0, 2)


FULL = """
import json, resource
import numpy as np
from scorer.run.reuse import KeyIndex

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng, before = np.random.default_rng(3), peak()
keys = (
    (rng.integers(0, 2**64, rows, np.uint64), np.arange(start, start + rows))
    for start in range(0, 25_000_000, 16384)
    for rows in [min(16384, 25_000_000 - start)]
)
index = KeyIndex(keys, 25_000_000)
print(json.dumps({"keys": len(index), "grown": peak() - before}))
"""


@pytest.mark.slow
def test_25_million_keys_in_less_than_a_gigabyte() -> None:
    done = subprocess.run([sys.executable, "-c", FULL], check=True, capture_output=True, text=True, cwd=ROOT)
    found = json.loads(done.stdout)
    assert found["keys"] > 24_998_000  # one in 20,000 shares its bits with another one
    assert found["grown"] < 700e6
