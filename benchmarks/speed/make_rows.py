"""Generate any number of rows like those of a nightly evaluation, the same for the same seed.

    python -m benchmarks.speed.make_rows --rows 1000000 --shards 50 OUT_DIR

A *data set* of inputs (restaurants, 3 to 8 facts each) is answered by many *systems*; a system renders an input with
one of a few phrasings per slot, and sometimes drops or adds a fact. So inputs repeat across systems, texts repeat if
two systems agree, and lengths are distributed as in E2E, as deduplication and length sorting meet them in practice.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SLOTS: dict[str, list[str]] = {
    "eatType": ["pub", "restaurant", "coffee shop"],
    "food": ["French", "English", "Italian", "Japanese", "Indian", "Chinese", "Fast food"],
    "priceRange": ["cheap", "moderate", "high", "less than £20", "£20-25", "more than £30"],
    "customer rating": ["low", "average", "high", "1 out of 5", "3 out of 5", "5 out of 5"],
    "area": ["riverside", "city centre"],
    "familyFriendly": ["yes", "no"],
    "near": ["Crowne Plaza Hotel", "Café Sicilia", "Burger King", "The Bakers", "Raja Indian Cuisine"],
}
PHRASES: dict[str, list[str]] = {
    "eatType": ["is a {}", "is a nice {} to visit", "can be described as a {}"],
    "food": ["serves {} food", "offers {} dishes", "has a menu of {} cuisine"],
    "priceRange": ["has {} prices", "is in the {} price range", "charges {} prices for its meals"],
    "customer rating": ["has a customer rating of {}", "is rated {} by its customers", "got {} from its guests"],
    "area": ["is located in the {}", "lies in the {} area", "can be found in the {}"],
    "familyFriendly": ["answers {} when asked if it is family friendly", "says {} to children"],
    "near": ["is near {}", "can be found close to {}", "stands right beside {}"],
}
SYLLABLES = ["Ba", "Cor", "Del", "Fen", "Gra", "Hol", "Lin", "Mar", "Nor", "Pel", "Ros", "Sal", "Tam", "Vil", "Wen"]


def inputs(rng: np.random.Generator, n: int) -> list[list[tuple[str, str, str]]]:
    """``n`` inputs: triples of one restaurant each."""
    made = []
    for _ in range(n):
        name = "The " + "".join(rng.choice(SYLLABLES, 3)).capitalize()
        slots = rng.permutation(list(SLOTS))[: rng.integers(3, len(SLOTS) + 1)]
        made.append([(name, slot, str(rng.choice(SLOTS[slot]))) for slot in slots])
    return made


def render(rng: np.random.Generator, triples: list[tuple[str, str, str]], style: int) -> str:
    """The text of one system for an input: mostly in its own phrasing, sometimes with a dropped or an added fact."""
    said = [t for t in triples if rng.random() > 0.05]
    if rng.random() < 0.03:
        slot = str(rng.choice(list(SLOTS)))
        said.append((triples[0][0], slot, str(rng.choice(SLOTS[slot]))))
    phrases = [PHRASES[s][(style + i) % len(PHRASES[s])].format(o) for i, (_, s, o) in enumerate(said)]
    half = (len(phrases) + 1) // 2
    sentences = [" and ".join(part) for part in (phrases[:half], phrases[half:]) if part]
    return " ".join(f"{triples[0][0] if i == 0 else 'It'} {s}." for i, s in enumerate(sentences))


def write(out: Path, rows: int, shards: int, seed: int = 0, systems: int = 20) -> None:
    """Write ``rows`` rows in ``shards`` Parquet files below ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    struct = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])
    done = 0
    for shard in range(shards):
        n = (rows * (shard + 1)) // shards - done
        asked = inputs(rng, -(-n // systems))
        triples, texts, names = [], [], []
        for i in range(n):
            one = asked[i // systems]
            triples.append([dict(zip(("subject", "predicate", "object"), t, strict=True)) for t in one])
            texts.append(render(rng, one, i % systems % 3))
            names.append(f"system-{i % systems}")
        columns = {
            "id": pa.array(np.arange(done, done + n)),
            "system": pa.array(names).dictionary_encode(),
            "triples": pa.array(triples, pa.list_(struct)),
            "text": pa.array(texts),
        }
        pq.write_table(pa.table(columns), out / f"part-{shard:04d}.parquet", compression="zstd")
        done += n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--shards", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    write(args.out, args.rows, args.shards, args.seed)


if __name__ == "__main__":
    main()
