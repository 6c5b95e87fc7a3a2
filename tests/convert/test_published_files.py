"""E2E and WebNLG files in every form they were published in, with content made up here; and real data, back again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.convert.e2e import slot_label, slot_label_without_restaurant
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


def test_the_gold_without_restaurant_is_that_of_the_published_code(shared_data: Path) -> None:
    names = ("added", "missing", "valerr", "diff", "fine", "fine_ignore_restaurant")
    table = pq.read_table(shared_data / "e2e_all.parquet", columns=[f"gold_{name}" for name in names])
    for added, missing, wrong, diff, fine, lenient in zip(*(column.to_pylist() for column in table), strict=True):
        counts = str(added), str(missing), str(wrong)
        assert (slot_label(*counts), slot_label_without_restaurant(*counts, diff)) == (fine, lenient)


@pytest.mark.parametrize(
    ("counts", "diff", "label"),
    [
        ((0, 1, 0), {"eatType": {"restaurant": -1}}, "OK"),
        ((1.0, 1.0, 0.0), {"eat_type": {"restaurant": 1}}, "omission"),
        ((0, 0, 0), {"eatType": {"restaurant": 1}}, "hallucination"),  # the count becomes -1, which is not 0
        ((0, 0, 1), {"eatType": {"restaurant": -1, "pub": 1}}, "omission+hallucination"),
        ((0, 1, 0), {"eatType": {"pub": -1}}, "omission"),
        ((0, 1, 0), [], None),
        ((0, 1, 0), {"eatType": {"restaurant": "x"}}, None),
    ],
)
def test_restaurant_is_optional_in_a_gold_of_its_own(
    counts: tuple[float, ...], diff: Any, label: str | None, write: Write, convert: Convert
) -> None:
    line = "\t".join(map(str, [LAMB, TEXTS[0], *counts, json.dumps(diff)]))
    rows = convert("e2e", write("e2e.tsv", f"mr\toutput\tadded\tmissing\tvalerr\tdiff\n{line}\n")).rows
    assert [row["gold_fine_ignore_restaurant"] for row in rows] == [label]


def test_dialogue_acts_with_broken_pounds_are_read(write: Write, convert: Convert) -> None:
    path = write("acts.csv", 'da,ref\n"inform(name=Elm Inn,price=Ł20)",It costs Ł20.\n"?request(food)",What?\n')
    rows = convert("e2e", path, "--mr-column", "da").rows
    assert [triples(row) for row in rows] == [[("Elm Inn", "price", "£20")], None]
    assert rows[0]["text"] == "It costs £20."


XML = """<?xml version='1.0' encoding='utf-8'?>
<benchmark>
  <entries>
    <entry category="Ship" eid="Id1" shape="(X (X) (X))" shape_type="sibling" size="2">
      <originaltripleset>
        <otriple>SS_Elk | len | "12.5"^^xsd:double</otriple>
        <otriple>SS_Elk | owner | Ida_&amp;_Co</otriple>
      </originaltripleset>
      <originaltripleset>
        <otriple>SS_Elk | another | Mapping</otriple>
      </originaltripleset>
      <modifiedtripleset>
        <mtriple>SS_Elk | length | "12.5 (metres)"</mtriple>
        <mtriple>SS_Elk | owner | Ida_&amp;_Co</mtriple>
      </modifiedtripleset>
      <lex comment="good" lid="Id1" lang="en">SS Elk, owned by Ida &amp; Co, is 12.5 m long.</lex>
      <lex comment="toFix" lid="Id2" lang="en">
        The ship of Ida &amp; Co is 12.5 m long. </lex>
      <lex comment="good" lid="Id3" lang="ru">Судно Эльк.</lex>
      <dbpedialinks><dbpedialink direction="en2ru">a | b | c</dbpedialink></dbpedialinks>
    </entry>
    <entry category="Port" eid="Id2" size="1">
      <originaltripleset><otriple>Ulm | river | Danube</otriple></originaltripleset>
      <lex comment="" lid="Id1"/>
    </entry>
  </entries>
</benchmark>
"""
ELK = [("SS_Elk", "length", '"12.5 (metres)"'), ("SS_Elk", "owner", "Ida_&_Co")]
ULM = [("Ulm", "river", "Danube")]


def test_lexicalisations_are_the_texts_without_system_files(write: Write, convert: Convert) -> None:
    result = convert("webnlg", write("ship.xml", XML))
    assert result.code == 0, result.err
    assert [triples(row) for row in result.rows] == [ELK, ELK, ELK], "a lexicalisation without a text is none"
    texts = [row["text"] for row in result.rows]
    assert texts == [
        "SS Elk, owned by Ida & Co, is 12.5 m long.",
        "The ship of Ida & Co is 12.5 m long.",
        "Судно Эльк.",
    ]
    first = result.rows[0]
    assert first["system"] == "reference" and first["line"] == 16
    assert first["references"] == texts[1:3]
    assert (first["eid"], first["category"], first["size"], first["shape"]) == ("Id1", "Ship", 2, "(X (X) (X))")
    assert (first["lid"], first["comment"], result.rows[1]["comment"]) == ("Id1", "good", "toFix")
    assert [t["predicate"] for t in first["original_triples"]] == ["len", "owner"]
    assert "3 rows, 2 inputs, 1 system, 0 malformed lines, 1 lexicalisation without a text left out" in result.err
    english = convert("webnlg", write("ship.xml", XML), "--lang", "en", "--force")
    assert [row["text"] for row in english.rows] == texts[:2]


def test_system_files(write: Write, convert: Convert) -> None:
    xml, first, second = write("t.xml", XML), write("forge.txt", "one\ntwo\n"), write("x/out.txt", "\n\n")
    result = convert("webnlg", xml, "--texts", first, "--texts", f"nil={second}")
    assert [(r["system"], r["file"], r["line"], r["text"], r["eid"]) for r in result.rows] == [
        ("forge", "forge.txt", 1, "one", "Id1"),
        ("forge", "forge.txt", 2, "two", "Id2"),
        ("nil", "out.txt", 1, "", "Id1"),
        ("nil", "out.txt", 2, "", "Id2"),
    ]
    assert len(result.rows[0]["references"]) == 3
    assert "lid" not in result.rows[0]
    refused = convert("webnlg", xml, "--texts", write("s.txt", "one\n"), "--force")
    assert refused.code == 2 and "1 line," in refused.err and "2 inputs" in refused.err


def test_enriched_version_has_the_text_in_an_element(write: Write, convert: Convert) -> None:
    rows = convert(
        "webnlg",
        write(
            "e.xml",
            "<benchmark><entries><entry category='A' eid='Id9' size='1'><modifiedtripleset>"
            "<mtriple>A | b | C</mtriple></modifiedtripleset><lex comment='good' lid='Id1'>"
            "<sortedtripleset><sentence ID='1'><striple>A | b | C</striple></sentence></sortedtripleset>"
            "<references><reference entity='A' number='1'>Not this</reference></references>"
            "<text>A bees C .</text><template>AGENT-1 bees</template></lex>"
            "<entitymap><entity>AGENT-1 | A</entity></entitymap></entry></entries></benchmark>",
        ),
    ).rows
    assert [(triples(row), row["text"]) for row in rows] == [([("A", "b", "C")], "A bees C .")]


def test_human_evaluation_csv(write: Write, convert: Convert) -> None:
    content = (
        "id,mr,team,text,category,type,bleu,semantics\n"
        '1,"SS_Elk | motto | ""Go, go""<br>SS_Elk | owner | Ida",forge,"ss elk , "" go "" .\n",Ship,seen,'
        "0.041,2.6666666666666665\n"
        "2,Ulm | river | Danube<br>,nil,null,Port,unseen,1,3.0\n"
        "3,Ulm | river | Danube,pipe,,Port,unseen,0,1\n"
    )
    result = convert("webnlg", write("all.csv", content), "--empty", "null")
    assert result.code == 0, result.err
    assert triples(result.rows[0]) == [("SS_Elk", "motto", '"Go, go"'), ("SS_Elk", "owner", "Ida")]
    assert [row["text"] for row in result.rows] == ['ss elk , " go " .', "", ""]
    assert [row["system"] for row in result.rows] == ["forge", "nil", "pipe"]
    assert [row["line"] for row in result.rows] == [2, 4, 5]
    assert [(row["id"], row["type"], row["bleu"], row["semantics"]) for row in result.rows] == [
        (1, "seen", 0.041, 2.6666666666666665),
        (2, "unseen", 1.0, 3.0),
        (3, "unseen", 0.0, 1.0),
    ]
    gold = [("OK", 2.6666666666666665), ("OK", 3.0), ("not_OK", 1.0)]
    assert [(row["gold_rough"], row["human_semantics"]) for row in result.rows] == gold
    assert "3 rows, 2 inputs, 3 systems" in result.err
    assert convert("webnlg", write("all.csv", content), "--force").rows[1]["text"] == "null"
    named = convert("webnlg", f"mine={write('all.csv', content)}", "--force").rows[0]
    assert (named["system"], named["team"]) == ("mine", "forge")
