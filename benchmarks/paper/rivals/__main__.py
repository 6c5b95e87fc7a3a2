"""``python -m benchmarks.paper.rivals NAME IN --out F.parquet``: add the columns of another metric to a file."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import typer

from benchmarks.paper.rivals import labels, overlap
from scorer.commands.ending import App, run_app
from scorer.errors import ColumnError, InputError, UsageError
from scorer.metric.facts import Triple
from scorer.metric.verdict import EMPTY_TEXT

_JUDGES = {"e2e-slots": labels.by_slots, "keywords": labels.by_keywords, "entities": labels.by_entities}


class Rival(StrEnum):
    bertscore = "bertscore"
    e2e_slots = "e2e-slots"
    entities = "entities"
    keywords = "keywords"
    overlap = "overlap"


def rivals_command(
    rival: Annotated[Rival, typer.Argument(help="Metric to add.")],
    data: Annotated[Path, typer.Argument(metavar="IN", exists=True, help="Parquet file or folder of them.")],
    out: Annotated[Path, typer.Option("--out", metavar="F.parquet", help="File to write.")],
    model: Annotated[Path | None, typer.Option("--model", help="bertscore: folder of a checkpoint.")] = None,
    layer: Annotated[int, typer.Option("--layer", min=1, help="bertscore: layer whose states are compared.")] = 6,
) -> None:
    """Add the columns of another metric to IN, and write F.parquet. e2e-slots, keywords and entities need `triples`
    and write labels if IN is no output of a run. The others need lists of texts in `references`."""
    try:
        table = ds.dataset([str(f) for f in sorted(data.rglob("*.parquet"))] if data.is_dir() else data).to_table()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{data} cannot be read as Parquet: {error}") from error
    if rival is Rival.bertscore and model is None:
        raise UsageError("bertscore needs --model FOLDER, a checkpoint of transformers")
    texts = _column(table, "text").to_pylist()
    if rival.value in _JUDGES:
        facts = _facts(table)
        found = labels.label_rows(facts, texts, _JUDGES[rival.value])
        columns = labels.as_columns(rival.value, found, facts, scored="fine" in table.schema.names)
    else:
        given = _column(table, "references").to_pylist()
        if model is not None:
            names, values = overlap.BERTSCORE, overlap.bertscores(texts, given, model, layer=layer)
        else:
            scorer = overlap.Overlap(given)
            names, values = overlap.COLUMNS, scorer.scores(texts, given)
            bleu, nist = scorer.corpus(texts, given)
            typer.echo(f"all texts as one corpus: BLEU {bleu}, NIST {nist}", err=True)
        arrays = (pa.array(column.astype(np.float32), mask=np.isnan(column)) for column in values.T)
        columns = dict(zip(names, arrays, strict=True))
    if "note" not in table.schema.names:  # scorer evaluate tells empty texts, which are easy for any metric, by it
        notes = [EMPTY_TEXT if text is not None and not text.strip() else None for text in texts]
        columns["note"] = pa.array(notes, pa.string())
    for name, array in columns.items():
        if name in table.schema.names:
            raise ColumnError(f"{data} has a column {name!r} already; leave it out")
        table = table.append_column(name, array)
    pq.write_table(table, out)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.schema.names:
        raise ColumnError(f"no column {name!r}; columns: {', '.join(table.schema.names)}")
    return table[name]


def _facts(table: pa.Table) -> list[list[Triple] | None]:
    column = _column(table, "triples")
    if not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        raise ColumnError(f"column 'triples' is {column.type}, but a list of structs is needed: see `scorer convert`")
    return [row and [Triple(*map(str, fact.values())) for fact in row] for row in column.to_pylist()]


if __name__ == "__main__":
    app = App(add_completion=False)
    app.command()(rivals_command)
    sys.exit(run_app(app, "python -m benchmarks.paper.rivals"))
