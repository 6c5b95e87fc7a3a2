"""The held-out domains of :mod:`.own` as inputs of `scorer run`, with gold labels for `scorer evaluate`.

    python -m training.general.own_rows ../shared/data/own ROWS

It writes three files. ``backoff.parquet`` has the facts as triples, ``sentences.parquet`` in their owners' words.
``exchanges.parquet`` has one fact a row, to be scored with ``--checks omission``: a value that a correct text says, as
it is and in another fact of the same row and kind, where it is an omission.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric import FINE
from training.general import own

EXCHANGE_SEED = 0


def gold_label(text: own.OwnText) -> str:
    """The FINE label of a text: a wrong value is an omission and a hallucination."""
    omission, hallucination = bool(text.wrong or text.left_out), bool(text.wrong or text.added)
    return FINE[omission + 2 * hallucination]


def described(text: own.OwnText, gold: str) -> dict[str, Any]:
    """The columns that all three files have."""
    return {"text": text.text, "input": text.input, "domain": text.domain, "gold_fine": gold}


def tables(texts: list[own.OwnText]) -> dict[str, list[dict[str, Any]]]:
    """Rows of each file by its name without the extension."""
    backoff, sentences, exchanges = list[dict[str, Any]](), list[dict[str, Any]](), list[dict[str, Any]]()
    rng = random.Random(EXCHANGE_SEED)
    for text in texts:
        gold = gold_label(text)
        triples = [triple._asdict() for of_key in text.facts.values() for triple in of_key]
        backoff.append({"triples": triples, **described(text, gold)})
        if text.sentences:
            sentences.append({"facts": [sentence for sentence, _ in text.sentences], **described(text, gold)})
        if gold == "OK":
            for _, fact, label in own.exchanged(text, text.text, rng):
                exchanges.append({"facts": [fact], **described(text, "OK" if label == own.ENTAILED else "omission")})
    return {"backoff": backoff, "sentences": sentences, "exchanges": exchanges}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.general.own_rows", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder with the rows of people's own tables")
    parser.add_argument("out", type=Path, help="folder for the three files")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, rows in tables(own.parts(own.read(options.folder))[1]).items():
        pq.write_table(pa.Table.from_pylist(rows), options.out / f"{name}.parquet")
        print(f"{name}.parquet: {len(rows):,} rows")


if __name__ == "__main__":
    main()
