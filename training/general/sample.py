"""The sample of three domains that ships: ``python -m training.general.sample OUT``.

Inputs and texts are written for this project; people, teams and places are invented. Each input has four texts: one
that says all and only the facts, in other words than a template would; one that leaves a fact out; one that adds
something; one that gets a value wrong. The column ``gold_fine`` says so, so that anybody can see where the model errs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric.facts import Triple

GOLD = {"faithful": "OK", "short": "omission", "chatty": "hallucination", "wrong": "omission+hallucination"}

DOMAINS: dict[str, tuple[tuple[tuple[str, str, str], ...], dict[str, str]]] = {
    "restaurants": (
        (
            ("Blue Spice", "eatType", "pub"),
            ("Blue Spice", "food", "Italian"),
            ("Blue Spice", "area", "riverside"),
        ),
        {
            "faithful": "By the riverside there is a pub called Blue Spice, which serves Italian dishes.",
            "short": "Blue Spice is a pub that serves Italian food.",
            "chatty": "Blue Spice is a cheap and highly rated pub with Italian food in the riverside area.",
            "wrong": "Blue Spice is a riverside pub that serves French food.",
        },
    ),
    "people": (
        (
            ("Agnes_Calder", "birthPlace", "Dundee"),
            ("Agnes_Calder", "occupation", "astronomer"),
            ("Agnes_Calder", "almaMater", "University_of_Glasgow"),
        ),
        {
            "faithful": "The astronomer Agnes Calder was born in Dundee and studied at the University of Glasgow.",
            "short": "Agnes Calder, an astronomer, studied at the University of Glasgow.",
            "chatty": "Agnes Calder was born in Dundee, graduated from the University of Glasgow and became an "
            "astronomer. She won several awards for her work.",
            "wrong": "Agnes Calder, an astronomer who was born in Dundee, went to the University of Leeds.",
        },
    ),
    "basketball": (
        (
            ("Harbor Gulls", "points", "104"),
            ("Ridgeport Miners", "points", "97"),
            ("Theo Lindqvist", "team", "Harbor Gulls"),
            ("Theo Lindqvist", "rebounds", "12"),
        ),
        {
            "faithful": "The Harbor Gulls scored 104 points, the Ridgeport Miners 97. Theo Lindqvist had 12 rebounds "
            "for the Gulls.",
            "short": "The Harbor Gulls scored 104 points and the Ridgeport Miners 97.",
            "chatty": "The Harbor Gulls scored 104 points and the Ridgeport Miners 97. Theo Lindqvist had 12 rebounds "
            "for the Gulls, his best game of the season.",
            "wrong": "The Harbor Gulls scored 109 points and the Ridgeport Miners 97. Theo Lindqvist had 12 rebounds "
            "for the Gulls.",
        },
    ),
}


def table() -> pa.Table:
    """The sample: columns domain, system, triples, text, gold_fine."""
    rows = [
        {
            "domain": domain,
            "system": system,
            "triples": [Triple(*fact)._asdict() for fact in facts],
            "text": text,
            "gold_fine": GOLD[system],
        }
        for domain, (facts, texts) in DOMAINS.items()
        for system, text in texts.items()
    ]
    return pa.Table.from_pylist(rows)


def main() -> None:
    pq.write_table(table(), Path(sys.argv[1]), compression="zstd", write_page_checksum=True)


if __name__ == "__main__":
    main()
