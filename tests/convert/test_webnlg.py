"""WebNLG files: XML of three versions, the human evaluation's CSV, with content made up here."""

from __future__ import annotations

from tests.convert.conftest import Convert, Write, triples

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
