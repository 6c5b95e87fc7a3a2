"""``scorer convert``: the field's own files become a Parquet file that ``scorer run`` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import guarded, local, say, tell

if TYPE_CHECKING:
    from ..convert import Problems, Rows

app = typer.Typer(
    name="convert",
    help="Turn the field's own files (E2E, WebNLG) into Parquet for `scorer run`.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

InputsArgument = Annotated[list[str], typer.Argument(metavar="IN", help="Files, each FILE or NAME=FILE.")]
OutOption = Annotated[
    Path,
    typer.Option(
        "--out", metavar="F.parquet", parser=local, help="The file to write. One that is there is kept, see --force."
    ),
]
TextsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--texts",
        metavar="[NAME=]FILE",
        help="The texts of a system, one line for every input. Repeatable, once for every system.",
    ),
]
MrColumnOption = Annotated[
    str | None, typer.Option("--mr-column", metavar="NAME", help="Column of the inputs. Default: mr, orig_mr.")
]
TextColumnOption = Annotated[
    str | None,
    typer.Option(
        "--text-column", metavar="NAME", help="Column of the texts. Default: text, output, ref, and the like."
    ),
]
EmptyOption = Annotated[
    list[str] | None,
    typer.Option("--empty", metavar="WORD", help="A text that stands for no text, for example null. Repeatable."),
]
StrictOption = Annotated[
    bool,
    typer.Option(
        "--strict", help="Stop at the first malformed line. Else it is reported, and its row kept with nulls."
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite F.parquet, once the new one is complete.")]


@app.command("e2e")
@guarded
def e2e_command(
    inputs: InputsArgument,
    out: OutOption,
    texts: TextsOption = None,
    references: Annotated[
        str | None,
        typer.Option("--references", metavar="FILE", help="A file of inputs and references, for a column of them."),
    ] = None,
    mr_column: MrColumnOption = None,
    text_column: TextColumnOption = None,
    empty: EmptyOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """E2E files: TSV or CSV of outputs or references.

    With or without a header; or one file of inputs, and the outputs by --texts. The system is the file's name, or the
    NAME before it. F.parquet is written whole or not at all.
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
@guarded
def webnlg_command(
    inputs: InputsArgument,
    out: OutOption,
    texts: TextsOption = None,
    mr_column: MrColumnOption = None,
    text_column: TextColumnOption = None,
    empty: EmptyOption = None,
    lang: Annotated[
        str | None,
        typer.Option("--lang", metavar="LANG", help="Leave out lexicalisations marked as of another language."),
    ] = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """WebNLG files: XML, or CSV with <br> between triples.

    Each IN is a file, or a folder of XML files; the texts are its own lexicalisations, or come by --texts. The system
    is the NAME or the file of --texts, `reference` for lexicalisations, or the CSV's column system or team. F.parquet
    is written whole or not at all.
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
    from ..convert import write_rows

    problems.close()
    write_rows(rows, out)
    systems = len(set(rows.system))
    say(
        f"{out}: {len(rows):,} rows, {rows.inputs:,} inputs, {systems:,} {'system' if systems == 1 else 'systems'}, "
        f"{problems.count:,} malformed lines"
        + (f", {rows.unreferenced:,} inputs without references" if rows.unreferenced else "")
    )
    tell(str(out))
