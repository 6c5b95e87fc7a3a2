"""The sample that ships with embedded-e2e: ``python -m export.training.e2e.sample OUT [PROBES]``.

The second file has the pairs of the sample's checks, for ``scorer export --probes``, so that the variants of the model
are verified on texts of its own domain, not only on general sentences.

Inputs and texts are written for this project. Three invented systems answer ten inputs: *careful* states the facts,
*hasty* leaves some out (once all of them), *chatty* adds facts that are not in the input.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric.checks import Options, build_checks
from scorer.metric.rows import from_arrow
from scorer.metric.templates import Templates
from scorer.metric.triples import from_mr

ROWS: list[tuple[str, dict[str, str]]] = [
    (
        "name[Blue Spice], eatType[pub], area[riverside]",
        {
            "careful": "Blue Spice is a pub in the riverside area.",
            "hasty": "Blue Spice is a pub.",
            "chatty": "Blue Spice is a cheap pub in the riverside area that serves Italian food.",
        },
    ),
    (
        "name[The Mill], eatType[coffee shop], food[French], priceRange[moderate]",
        {
            "careful": "The Mill is a moderately priced coffee shop that serves French food.",
            "hasty": "The Mill is a coffee shop with French food.",
            "chatty": "The Mill is a moderately priced coffee shop serving French food near Café Sicilia.",
        },
    ),
    (
        "name[Zizzi], eatType[restaurant], food[English], familyFriendly[yes]",
        {
            "careful": "Zizzi is a family friendly restaurant with English food.",
            "hasty": "",
            "chatty": "Zizzi is a family friendly restaurant with English food and a customer rating of 5 out of 5.",
        },
    ),
    (
        "name[Cotto], eatType[coffee shop], customer rating[low], near[The Portland Arms]",
        {
            "careful": "Cotto is a coffee shop near The Portland Arms with a low customer rating.",
            "hasty": "Near The Portland Arms you will find the coffee shop Cotto.",
            "chatty": "Cotto is a city centre coffee shop near The Portland Arms with a low customer rating.",
        },
    ),
    (
        "name[Strada], food[Italian], priceRange[high], area[city centre]",
        {
            "careful": "Strada serves Italian food at high prices in the city centre.",
            "hasty": "Strada serves Italian food in the city centre.",
            "chatty": "Strada serves Italian food at high prices in the city centre. Children are welcome.",
        },
    ),
    (
        "name[The Phoenix], eatType[pub], food[Indian], familyFriendly[no]",
        {
            "careful": "The Phoenix is a pub serving Indian food. It is not family friendly.",
            "hasty": "The Phoenix is a pub that is not family friendly.",
            "chatty": "The Phoenix is a cheap pub serving Indian food. It is not family friendly.",
        },
    ),
    (
        "name[Giraffe], eatType[restaurant], food[Fast food], area[riverside], near[Raja Indian Cuisine]",
        {
            "careful": "Giraffe is a fast food restaurant by the riverside, near Raja Indian Cuisine.",
            "hasty": "Giraffe is a fast food restaurant by the riverside.",
            "chatty": "Giraffe is a highly rated fast food restaurant by the riverside, near Raja Indian Cuisine.",
        },
    ),
    (
        "name[Wildwood], eatType[pub], food[Japanese], customer rating[5 out of 5]",
        {
            "careful": "Wildwood is a pub with Japanese food and a customer rating of 5 out of 5.",
            "hasty": "Wildwood is a pub with a customer rating of 5 out of 5.",
            "chatty": "Wildwood is a child friendly pub with Japanese food and a customer rating of 5 out of 5.",
        },
    ),
    (
        "name[The Cricketers], eatType[restaurant], priceRange[less than £20], near[Café Rouge]",
        {
            "careful": "The Cricketers is a restaurant near Café Rouge where meals cost less than £20.",
            "hasty": "The Cricketers is a restaurant near Café Rouge.",
            "chatty": "The Cricketers is a Chinese restaurant near Café Rouge where meals cost less than £20.",
        },
    ),
    (
        "name[Clowns], eatType[pub], food[Chinese], area[riverside], near[Clare Hall]",
        {
            "careful": "Clowns is a Chinese pub near Clare Hall in the riverside area.",
            "hasty": "Clowns is a pub near Clare Hall.",
            "chatty": "Clowns is a moderately priced Chinese pub near Clare Hall in the riverside area.",
        },
    ),
]


def table() -> pa.Table:
    """The sample: columns id, system, mr, text."""
    rows = [(system, mr, text) for mr, texts in ROWS for system, text in texts.items()]
    return pa.table(
        {
            "id": [f"sample-{i:02d}" for i in range(len(rows))],
            "system": [system for system, _, _ in rows],
            "mr": [mr for _, mr, _ in rows],
            "text": [text for _, _, text in rows],
        }
    )


def probes() -> pa.Table:
    """The pairs of the sample's checks: columns premise, hypothesis."""
    made = table()
    rows = from_arrow(from_mr(made["mr"].combine_chunks()), made["text"].combine_chunks())
    checks = build_checks(
        rows, Templates.load(Path(__file__).with_name("templates.json")), Options(protocol="nlgi_eval")
    )
    return pa.table(
        {
            "premise": [checks.texts[i] for i in checks.premise],
            "hypothesis": [checks.texts[i] for i in checks.hypothesis],
        }
    )


def main() -> None:
    for path, content in zip(map(Path, sys.argv[1:]), (table, probes), strict=False):
        pq.write_table(content(), path, compression="zstd", write_page_checksum=True)


if __name__ == "__main__":
    main()
