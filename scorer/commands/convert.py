"""``scorer convert``: turn the field's own files into Parquet that ``scorer run`` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import say, tell
from .ending import App
from .files import written_parquet

if TYPE_CHECKING:
    from ..convert import Collection, Problems, Rows

app = App(help="Convert E2E, WebNLG, Quintd and D2T-Eval files to Parquet.")

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


SpansOption = Annotated[
    Path | None,
    typer.Option(
        "--spans", metavar="S.parquet", parser=written_parquet, help="Also write the spans that people marked."
    ),
]
JudgeSpansOption = Annotated[
    Path | None,
    typer.Option(
        "--judge-spans", metavar="J.parquet", parser=written_parquet, help="Also write the spans that models marked."
    ),
]


@app.command("quintd")
def quintd_command(
    source: Annotated[
        str,
        typer.Argument(metavar="IN", help="Folder data/quintd-1 of the repository, or a Parquet file of its outputs."),
    ],
    out: OutOption,
    spans: SpansOption = None,
    judge_spans: JudgeSpansOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """Convert Quintd-1: outputs with marked error spans.

    The column gold_rough is not_OK with an Incorrect span. S.parquet is for `scorer evaluate --spans`, J.parquet
    (GPT-4) for its --rivals. Score with --checks hallucination: the texts omit most facts on purpose.
    """
    from ..convert import QUINTD

    _annotated(QUINTD, source, (out, spans, judge_spans), strict, force)


@app.command("d2t-eval")
def d2t_eval_command(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Root of the repository, or a Parquet file of its outputs.")
    ],
    out: OutOption,
    spans: SpansOption = None,
    judge_spans: JudgeSpansOption = None,
    strict: StrictOption = False,
    force: ForceOption = False,
) -> None:
    """Convert D2T-Eval: outputs with marked error spans.

    As `scorer convert quintd`: gold_rough is not_OK with a Contradictory span, J.parquet has the spans of six models.
    """
    from ..convert import D2T_EVAL

    _annotated(D2T_EVAL, source, (out, spans, judge_spans), strict, force)


def _annotated(
    collection: Collection, source: str, files: tuple[Path, Path | None, Path | None], strict: bool, force: bool
) -> None:
    from ..convert import Problems, check_output, convert_annotated, write_table

    targets = list(zip(files, ("--out", "--spans", "--judge-spans"), strict=True))
    for target, _ in targets:
        if target is not None:
            check_output(target, [source], force)
    problems = Problems(strict, say)
    found = convert_annotated(collection, source, problems)
    problems.close()
    for (target, option), table in zip(targets, (found.rows, found.spans, found.judged), strict=True):
        if target is not None:
            write_table(table, target, option)
            say(f"{target}: {len(table):,} rows")
            tell(str(target))
    say(f"{found.inputs:,} inputs, {problems.count:,} outputs or annotations that cannot be read")


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
