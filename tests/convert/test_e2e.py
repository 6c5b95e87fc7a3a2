"""E2E files in every form they were published in, with content made up here; and real data, there and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.convert.conftest import Convert, Write, triples

LAMB = "name[The Lamb], eatType[pub], food[Thai]"
LAMB_TRIPLES = [("The Lamb", "eatType", "pub"), ("The Lamb", "food", "Thai")]
FOX = "name[Fox], near[Café Ünal]"
FOX_TRIPLES = [("Fox", "near", "Café Ünal")]
TEXTS = ["The Lamb is a Thai pub.", "Fox is near Café Ünal."]


@pytest.mark.parametrize(
    "content",
    [
        f"\ufeffMR\toutput\r\n{LAMB}\t{TEXTS[0]}\r\n{FOX}\t{TEXTS[1]}\r\n",
        f'mr,ref\n"{LAMB}",{TEXTS[0]}\n"{FOX}","{TEXTS[1]}"\n',
        f"MR\toutput\n'{LAMB}'\t'{TEXTS[0]}'\n'{FOX}'\t'{TEXTS[1]}'\n",
        f'MR\toutput\n"{LAMB}"\t{TEXTS[0]} \n "{FOX}" \t  {TEXTS[1]}\n',
        f"{TEXTS[0]}\t{LAMB}\n{TEXTS[1]}\t{FOX}\n",
        f"MR\toutput\r{LAMB}\t{TEXTS[0]}\r{FOX}\t{TEXTS[1]}\r",
        f"human_reference\tMR\n{TEXTS[0]}\t{LAMB}\n\n{TEXTS[1]}\t{FOX}\n\n",
        f'mr,ref\n"{LAMB}",{TEXTS[0]},,\n"{FOX}",{TEXTS[1]}\n',
    ],
)
def test_published_forms(content: str, write: Write, convert: Convert) -> None:
    result = convert("e2e", write("sys1.tsv", content))
    assert result.code == 0, result.err
    assert [triples(row) for row in result.rows] == [LAMB_TRIPLES, FOX_TRIPLES]
    assert [row["mr"] for row in result.rows] == [LAMB, FOX]
    assert [row["text"] for row in result.rows] == TEXTS
    assert {(row["system"], row["file"]) for row in result.rows} == {("sys1", "sys1.tsv")}
    assert "2 rows, 2 inputs, 1 system, 0 malformed lines" in result.err


def test_cleaned_data_passes_its_columns_on(write: Write, convert: Convert) -> None:
    path = write("clean.csv", f'mr,ref,fixed,orig_mr\n"{FOX}",{TEXTS[1]},1,"{LAMB}"\n"{LAMB}",{TEXTS[0]},0,"{LAMB}"\n')
    rows = convert("e2e", path).rows
    assert [triples(row) for row in rows] == [FOX_TRIPLES, LAMB_TRIPLES]
    assert [(row["fixed"], row["orig_mr"], row["line"]) for row in rows] == [(1, LAMB, 2), (0, LAMB, 3)]
    assert list(rows[0]) == ["mr", "triples", "text", "system", "file", "line", "fixed", "orig_mr"]
    assert triples(convert("e2e", path, "--mr-column", "orig_mr", "--force").rows[0]) == LAMB_TRIPLES


def test_tsv_with_unquoted_quotes_is_taken_literally(write: Write, convert: Convert) -> None:
    texts = ['"Thai" pub', '"Fox', 'he said "so"', '"whole"', '"not closed', 'but here"']
    lines = [f"{mr}\t{text}\n" for mr, text in zip([LAMB, f'"{FOX}"', LAMB, FOX, LAMB, FOX], texts, strict=True)]
    result = convert("e2e", write("s.tsv", "MR\toutput\n" + "".join(lines)))
    assert [row["text"] for row in result.rows] == [*texts[:3], "whole", *texts[4:]]
    assert [triples(row) for row in result.rows] == [LAMB_TRIPLES, FOX_TRIPLES] * 3


def test_several_systems(write: Write, convert: Convert) -> None:
    first = write("a/out.tsv", f"MR\toutput\n{LAMB}\tone\n")
    second = write("b/out.tsv", f"MR\toutput\textra\n{LAMB}\ttwo\t5\n")
    refused = convert("e2e", first, second)
    assert refused.code == 2 and "both be the system 'out'" in refused.err and "NAME=FILE" in refused.err
    result = convert("e2e", first, f"second={second}")
    assert [(row["system"], row["text"], row["extra"]) for row in result.rows] == [
        ("out", "one", None),
        ("second", "two", 5),
    ]
    assert "2 rows, 1 input, 2 systems" in result.err


def test_references_are_joined_by_input(write: Write, convert: Convert) -> None:
    outputs = write("s.tsv", f"MR\toutput\n{LAMB}\tx\n{FOX}\ty\nname[Elk], food[Thai]\tz\n")
    turned = "name[The Lamb],food[Thai],eatType[pub]"
    references = write("refs.csv", f'mr,ref\n"{LAMB}",r1\n"{turned}",r2\n"{FOX}",r3\n')
    result = convert("e2e", outputs, "--references", references)
    assert [row["references"] for row in result.rows] == [["r1", "r2"], ["r3"], []]
    assert "1 input without references" in result.err
    assert "references" not in convert("e2e", outputs, "--force").rows[0]


def test_text_files_beside_inputs(write: Write, convert: Convert) -> None:
    inputs, text = write("mrs.txt", f"{LAMB}\n{FOX}\n"), "a\u2028b\x0c\x1cc\x85d"  # none of these ends a line
    first, second = write("sys.run0.txt", f"{text}\nnull\n"), write("t.txt", b"\xef\xbb\xbf two \r\nb\xc3d\r\n")
    result = convert("e2e", inputs, "--texts", first, "--texts", f"tgen={second}", "--empty", "null")
    assert result.code == 0, result.err
    assert [(r["system"], r["file"], r["line"], r["text"]) for r in result.rows] == [
        ("sys.run0", "sys.run0.txt", 1, text),
        ("sys.run0", "sys.run0.txt", 2, ""),
        ("tgen", "t.txt", 1, "two"),
        ("tgen", "t.txt", 2, None),
    ]
    assert f"{second}:2: not UTF-8" in result.err
    assert [triples(row) for row in result.rows] == [LAMB_TRIPLES, FOX_TRIPLES] * 2


COLUMNS = ["mr", "text", "system", "triples"]


def test_e2e_primary(shared_data: Path, tmp_path: Path, write: Write, convert: Convert) -> None:
    table = pq.read_table(shared_data / "e2e_primary.parquet", columns=COLUMNS)
    rows = table.to_pylist()
    assert not any(mark in row[key] for row in rows for key in ("mr", "text") for mark in "\t\n\r")
    systems: dict[str, list[str]] = {}
    for row in rows:
        systems.setdefault(row["system"], []).append(f"{row['mr']}\t{row['text']}\n")
    paths = [write(f"{system}.tsv", "MR\toutput\n" + "".join(lines)) for system, lines in systems.items()]
    result = convert("e2e", *paths)
    assert "0 malformed lines" in result.err
    assert [{key: row[key] for key in COLUMNS} for row in result.rows] == [
        {**row, "text": row["text"].strip()} for row in rows
    ]


def test_counts_of_the_slot_script_are_gold_labels(write: Write, convert: Convert) -> None:
    """As the file of Dušek & Kasner has them: a wrong value is both errors; repetitions are none."""
    counts = [(0, 0, 0), (1, 0, 0), (0, 2, 0), (1, 1, 0), (0, 0, 1)]
    lines = [f"{LAMB}\t{TEXTS[0]}\t{n}\ttgen\t{a}\t{m}\t{v}\t1\n" for n, (a, m, v) in enumerate(counts)]
    lines.append(f"{FOX}\t{TEXTS[1]}\t9\tslug\t\t0\t0\t0\n")
    path = write("e2e.tsv", "mr\toutput\tid\tsys_id\tadded\tmissing\tvalerr\trepeated\n" + "".join(lines))
    rows = convert("e2e", path).rows
    both = "omission+hallucination"
    assert [row["gold_fine"] for row in rows] == ["OK", "hallucination", "omission", both, both, None]
    assert [row["system"] for row in rows] == ["tgen"] * 5 + ["slug"]
    assert [row["added"] for row in rows] == [0, 1, 0, 1, 0, None]
    own = write("own.tsv", f"mr\toutput\tadded\tmissing\tvalerr\tgold_fine\n{LAMB}\t{TEXTS[0]}\t1\t0\t0\tOK\n")
    assert convert("e2e", own, "--force").rows[0]["gold_fine"] == "OK"


def test_dialogue_acts_with_broken_pounds_are_read(write: Write, convert: Convert) -> None:
    path = write("acts.csv", 'da,ref\n"inform(name=Elm Inn,price=Ł20)",It costs Ł20.\n"?request(food)",What?\n')
    rows = convert("e2e", path, "--mr-column", "da").rows
    assert [triples(row) for row in rows] == [[("Elm Inn", "price", "£20")], None]
    assert rows[0]["text"] == "It costs £20."
