"""``scorer convert``: turn the field's own files into Parquet that ``scorer run`` reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..convert import ConvertOptions
from ..errors import count_of
from ..system.arguments import option
from .console import print_line, say
from .ending import App
from .options import written_parquet

if TYPE_CHECKING:
    from ..convert.rows import ConvertedRows
    from ..convert.source_files import Problems

app = App(help="Convert E2E and WebNLG files to Parquet.")

InputsArgument = Annotated[
    list[str], typer.Argument(metavar="IN", help="Input files, each FILE or NAME=FILE; exits 2 if one cannot be read.")
]
OUT: Any = option(
    "File to write, completely or not at all; exits 2 if it exists, unless --force.",
    "F.parquet",
    parser=written_parquet,
)


@app.command("e2e")
def e2e_command(
    inputs: InputsArgument,
    options: ConvertOptions,
    out: Path = OUT,
    references: str | None = option("File of inputs and references, added as a column of references.", "FILE", None),
) -> None:
    """Convert E2E files (TSV, CSV) of outputs or references.

    Each file has the outputs of the system NAME, by default the file's name. Alternatively, pass one file of inputs,
    and the outputs with --texts.
    """
    from ..convert.e2e import convert_e2e

    input_files = [*inputs, *([references] if references else [])]
    _convert(partial(convert_e2e, inputs, references=references), input_files, out, options)


@app.command("webnlg")
def webnlg_command(
    inputs: InputsArgument,
    options: ConvertOptions,
    out: Path = OUT,
    lang: str | None = option("Exclude lexicalisations marked as another language.", "LANG", None),
) -> None:
    """Convert WebNLG files (XML, CSV).

    IN is a file, or a folder of XML files; a CSV has <br> between triples. Texts are the lexicalisations (system
    `reference`), those of --texts, or those of the CSV (column system or team).
    """
    from ..convert.webnlg import convert_webnlg

    _convert(partial(convert_webnlg, inputs, lang=lang), inputs, out, options)


def _convert(
    convert: Callable[[ConvertOptions, Problems], ConvertedRows],
    inputs: Sequence[str],
    out: Path,
    options: ConvertOptions,
) -> None:
    from ..convert.rows import check_output
    from ..convert.source_files import Problems

    check_output(out, [*inputs, *options.texts], options.force)
    problems = Problems(options.strict, say)
    rows = convert(options, problems)
    problems.close()
    rows.write(out)
    say(
        f"{out}: {count_of(len(rows), 'row')}, {count_of(rows.inputs, 'input')}, {count_of(rows.systems, 'system')}, "
        f"{count_of(problems.count, 'malformed line')}"
        + (f", {count_of(len(rows.unreferenced), 'input')} without references" if rows.unreferenced else "")
        + (f", {count_of(problems.left_out, 'lexicalisation')} without a text left out" if problems.left_out else "")
    )
    print_line(str(out))
