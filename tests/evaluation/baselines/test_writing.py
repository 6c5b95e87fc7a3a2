from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sacrebleu

from scorer.errors import ColumnError, InputError
from scorer.evaluation.baselines.judges import Judge, KeywordsJudge, SlotsJudge
from scorer.evaluation.baselines.overlap import COLUMNS
from scorer.evaluation.baselines.reference_counts import count_references
from scorer.evaluation.baselines.reference_judges import OverlapJudge
from scorer.evaluation.baselines.writing import write
from scorer.metric.columns import OUTPUT
from scorer.metric.inputs import ColumnNames, find_columns
from scorer.metric.keys import row_keys
from scorer.scoring.signature import FOOTER_KEY

MR = "name[Blue Spice], eatType[pub], familyFriendly[no]"
TABLE = pa.table(
    {
        "mr": [MR, MR, MR, MR, "nothing"],
        "text": ["Blue Spice is a pub. It is not family friendly.", "Blue Spice is Italian.", " ", None, "x"],
        "gold_fine": ["OK", "omission+hallucination", "omission", "OK", "OK"],
    }
)


def _write(table: pa.Table, judge: Judge, folder: Path) -> pa.Table:
    pq.write_table(table, folder / "in.parquet")
    write([str(folder / "in.parquet")], folder / "out.parquet", judge, ColumnNames())
    return pq.read_table(folder / "out.parquet")


def _overlap(table: pa.Table, folder: Path) -> pa.Table:
    pq.write_table(table, folder / "in.parquet")
    counts = count_references([str(folder / "in.parquet")], "references")
    return _write(table, OverlapJudge("text", "references", counts), folder)


def test_slots_as_a_run_writes_them(tmp_path: Path) -> None:
    table = _write(TABLE, SlotsJudge(), tmp_path)
    assert table.schema.names[3:14] == OUTPUT.names
    assert [table.schema.field(name).type for name in OUTPUT.names] == OUTPUT.types
    assert table["fine"].to_pylist() == ["OK", "omission+hallucination", "omission", None, None]
    assert table["error"].to_pylist() == [None, None, None, "null_text", "malformed_triples"]
    assert table["note"].to_pylist() == [None, None, "empty_text", None, None]
    assert table["omitted"].to_pylist() == [[], [0, 1], [0, 1], None, None]
    assert table["fact_entailment"].to_pylist()[:2] == [[1.0, 1.0], [0.0, 0.0]]
    assert table["text_entailment"].to_pylist()[:3] == [1.0, 0.0, 1.0]
    assert table["confidence"].to_pylist()[:3] == [1.0, 0.0, 0.0]
    assert table["slots_missing"].to_pylist()[:3] == [0, 2, 3]
    assert table["slot_error_rate"].to_pylist()[3:] == [None, None]
    assert table.schema.metadata[FOOTER_KEY.encode()] == b"baseline:e2e-slots|metric:1"


def test_keywords_see_no_hallucination_and_row_keys_are_those_of_a_run(tmp_path: Path) -> None:
    table = _write(TABLE, KeywordsJudge(), tmp_path)
    assert table["row_key"].combine_chunks().equals(row_keys(find_columns(TABLE.schema, ColumnNames()).rows(TABLE)))
    assert table["fine"].to_pylist() == ["OK", "omission", "omission", None, None]
    assert table["text_entailment"].null_count == 5
    assert table["confidence"].to_pylist()[:2] == [1.0, 0.0]


def test_keywords_of_any_data(tmp_path: Path) -> None:
    triples = [["Alan_Bean | birthPlace | Wheeler,_Texas", 'Alan_Bean | occupation | "Test pilot"']] * 2
    texts = ["Alan Bean, born in Wheeler, Texas, was a test pilot.", "Alan Bean was born in Texas."]
    table = _write(pa.table({"triples": triples, "text": texts}), KeywordsJudge(), tmp_path)
    assert table["omitted"].to_pylist() == [[], [0, 1]]
    assert table["confidence"].to_pylist() == [1.0, 0.0]


def test_overlap_is_sacrebleus(tmp_path: Path) -> None:
    text, references = "the cat sat on a mat", ["the cat sat on the mat", "a cat is on the mat"]
    table = pa.table(
        {
            "triples": [["a | b | c"]] * 4,
            "text": [text, "", None, text],
            "references": pa.array([references, references, references, None], pa.list_(pa.string())),
        }
    )
    found = _overlap(table, tmp_path)
    assert found["fine"].null_count == 4
    assert found["error"].to_pylist() == [None, None, "null_text", None]
    bleu, chrf, ter = (found[name].to_pylist() for name in COLUMNS[:3])
    assert bleu[0] == pytest.approx(sacrebleu.sentence_bleu(text, references).score, rel=1e-5)
    assert chrf[0] == pytest.approx(sacrebleu.sentence_chrf(text, references).score, rel=1e-5)
    assert ter[0] == pytest.approx(100 / 6, rel=1e-5), "one word of six to change"
    assert (bleu[1:], chrf[1:], ter[1:]) == ([0.0, None, None], [0.0, None, None], [100.0, None, None])


def test_other_spellings_of_slots_have_the_same_synonyms(tmp_path: Path) -> None:
    coded = ["X | rating | 5 out of 5", "X | eat_type | coffee shop", "X | price_range | cheap"]
    plain = ["X | customer rating | 5 out of 5", "X | eatType | coffee shop", "X | priceRange | cheap"]
    text = "X, a cafe with a high customer rating, is inexpensive."
    table = pa.table({"triples": [coded, plain], "text": [text] * 2})
    assert _write(table, KeywordsJudge(), tmp_path)["fine"].to_pylist() == ["OK", "OK"]
    assert _write(table, SlotsJudge(), tmp_path)["omitted"].to_pylist() == [[1], [1]], "a cafe is no coffee shop there"


def test_overlap_takes_any_lists_of_strings_and_leaves_out_broken_ones(tmp_path: Path) -> None:
    broken = pa.array([b"a pub", b"\xff"]).view(pa.string())
    table = pa.table(
        {
            "triples": [["a | b | c"]] * 3,
            "text": pa.array([b"a pub", b"\xff", b"a pub"]).view(pa.string()),
            "references": pa.ListArray.from_arrays([0, 1, 1, 2], broken).cast(pa.large_list(pa.large_string())),
        }
    )
    found = _overlap(table, tmp_path)
    assert found["sacrebleu_chrf"].to_pylist() == [100.0, None, None]
    assert found["error"].to_pylist() == [None, "invalid_utf8", None]
    table = table.set_column(2, "references", [[[1], [2], [3]]])
    with pytest.raises(ColumnError, match=r"'references' is list<.*int64>, but references are list<string>"):
        _overlap(table, tmp_path)


def test_overlap_is_added_to_a_runs_labels(tmp_path: Path) -> None:
    scored = _write(TABLE.slice(0, 2), SlotsJudge(), tmp_path)
    scored = scored.append_column("references", pa.array([["A pub."], ["A pub."]]))
    again = tmp_path / "again"
    again.mkdir()
    found = _overlap(scored, again)
    assert found.schema.names == [*scored.schema.names, *COLUMNS]
    assert found["fine"].to_pylist() == scored["fine"].to_pylist()
    assert found.schema.metadata[FOOTER_KEY.encode()] == b"baseline:e2e-slots|metric:1"


def test_inputs_of_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(TABLE, path)
    pq.write_table(pa.table({"triples": [["a | b | c"]], "text": ["x"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="other columns"):
        write([str(path), str(tmp_path / "other.parquet")], tmp_path / "out", KeywordsJudge(), ColumnNames())
    assert not (tmp_path / "out").exists(), "nothing half-written is left"
