"""``scorer convert``: turn the field's own files into Parquet that ``scorer run`` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import say, tell
from .ending import App
from .options import written_parquet

if TYPE_CHECKING:
    from ..convert import Problems, Rows

app = App(help="Convert E2E and WebNLG files to Parquet.")

InputsArgument = Annotated[
    list[str], typer.Argument(metavar="IN", help="Input files, each FILE or NAME=FILE; exits 2 if one cannot be read.")
]
OutOption = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="F.parquet",
        parser=written_parquet,
        help="File to write, completely or not at all; exits 2 if it exists, unless --force.",
    ),
]
TextsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--texts",
        metavar="[NAME=]FILE",
        help="Texts of a system, one line per input. Repeatable.",
    ),
]
MrColumnOption = Annotated[
    str | None, typer.Option("--mr-column", metavar="NAME", help="Column of inputs. Default: mr or orig_mr.")
]
TextColumnOption = Annotated[
    str | None,
    typer.Option(
        "--text-column", metavar="NAME", help="Column of texts. Default: a usual name, such as text, output or ref."
    ),
]
EmptyOption = Annotated[
    list[str] | None,
    typer.Option("--empty", metavar="WORD", help="Word that means an empty text, such as null. Repeatable."),
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Exit 2 at the first malformed line. Default: report it, and write nulls."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@app.command("e2e")
def e2e_command(
    inputs: InputsArgument,
    out: OutOption,
    texts: TextsOption = None,
    references: Annotated[
        str | None,
        typer.Option(
            "--references", metavar="FILE", help="File of inputs and references, added as a column of references."
        ),
    ] = None,
    mr_column: MrColumnOption = None,
    text_column: TextColumnOption = None,
    empty: EmptyOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """Convert E2E files (TSV, CSV) of outputs or references.

    Each file has the outputs of the system NAME, by default the file's name. Alternatively, pass one file of inputs,
    and the outputs with --texts.
    """
    from ..convert import Problems, check_output, convert_e2e

    check_output(out, [*inputs, *(texts or []), *([references] if references else [])], force)
    problems = Problems(strict, say)
    rows = convert_e2e(
        inputs,
        problems,
        texts=texts or (),
        references=references,
        mr_column=mr_column,
        text_column=text_column,
        empty=empty or (),
    )
    _finish(rows, problems, out)


@app.command("webnlg")
def webnlg_command(
    inputs: InputsArgument,
    out: OutOption,
    texts: TextsOption = None,
    mr_column: MrColumnOption = None,
    text_column: TextColumnOption = None,
    empty: EmptyOption = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="LANG", help="Exclude lexicalisations marked as another language."),
    ] = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """Convert WebNLG files (XML, CSV).

    IN is a file, or a folder of XML files; a CSV has <br> between triples. Texts are the lexicalisations (system
    `reference`), those of --texts, or those of the CSV (column system or team).
    """
    from ..convert import Problems, check_output, convert_webnlg

    check_output(out, [*inputs, *(texts or [])], force)
    problems = Problems(strict, say)
    rows = convert_webnlg(
        inputs,
        problems,
        texts=texts or (),
        mr_column=mr_column,
        text_column=text_column,
        empty=empty or (),
        lang=lang,
    )
    _finish(rows, problems, out)


def _finish(rows: Rows, problems: Problems, out: Path) -> None:
    problems.close()
    rows.write(out)
    say(
        f"{out}: {len(rows):,} rows, {rows.inputs:,} inputs, {rows.systems:,} "
        f"{'system' if rows.systems == 1 else 'systems'}, {problems.count:,} malformed lines"
        + (f", {len(rows.unreferenced):,} inputs without references" if rows.unreferenced else "")
        + (f", {problems.left_out:,} lexicalisations without a text left out" if problems.left_out else "")
    )
    tell(str(out))
