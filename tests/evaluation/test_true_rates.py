"""True rates: the sample, the file of labels, and rates against the truth of made-up outputs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from scorer.errors import InputError
from scorer.evaluation.sampling import COLUMNS, LabelledOutput, draw_rows, read_items, read_labels, write_items
from scorer.evaluation.true_rates import true_rates
from tests.evaluation.scored import output, save, scored
from tests.run.calls import scorer


def of(path: Path) -> LabelledOutput:
    return read_labels(path, str(path), ("system", "truth"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> LabelledOutput:
    return of(output(tmp_path_factory.mktemp("rates") / "out", 2000))


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, lines: Sequence[dict[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(lines)
    return path


def filled(output: LabelledOutput, path: Path, rows: int = 120, seed: int = 0) -> Path:
    """A sample, labelled with the truth."""
    drawn = draw_rows(output, rows, seed, "system")
    lines = list(csv.DictReader(io.StringIO(write_items(output, drawn)[0].decode("utf-8-sig"))))
    truth = output.scored.array("truth").to_pylist()
    for line, row in zip(lines, drawn.tolist(), strict=True):
        line["label"] = truth[row]
    return write(path, lines)


def test_a_sample_is_random_within_each_label_and_spread_over_the_systems(made: LabelledOutput) -> None:
    drawn = draw_rows(made, 120, 0, "system")
    assert len(drawn) == len(set(drawn.tolist())) == 120
    bad = int((made.fine > 0).sum())
    assert abs(int((made.fine[drawn] > 0).sum()) - 120 * bad / 2000) <= 1
    systems = made.groups("system")[0][drawn]
    assert abs(int((systems == 1).sum()) - 30) <= 2  # b has every fourth row
    assert np.array_equal(drawn, draw_rows(made, 120, 0, "system"))
    assert not np.array_equal(drawn, draw_rows(made, 120, 1, "system"))
    assert sorted(draw_rows(made, 5000, 0).tolist()) == list(range(2000)), "all there are"


def test_a_rare_label_of_the_metric_has_ten_rows_or_all_of_them(tmp_path: Path) -> None:
    labels = ["OK"] * 500 + ["omission"] * 12 + ["hallucination"] * 4 + [None] * 3
    out = of(save(scored(labels), tmp_path / "x.parquet"))
    drawn = draw_rows(out, 100, 0)
    assert [int((out.fine[drawn] == code).sum()) for code in (0, 1, 2, -1)] == [83, 10, 4, 3]


def test_the_file_has_what_people_need_and_not_what_the_metric_says(made: LabelledOutput) -> None:
    drawn = draw_rows(made, 20, 0, "system")
    content, notes = write_items(made, drawn)
    written = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
    assert tuple(written[0]) == COLUMNS == ("item", "facts", "text", "label", "comment") and not notes
    for line, row in zip(written, drawn.tolist(), strict=True):
        assert (line["text"], line["facts"], line["label"]) == (f"text {row}", f"The food of s{row} is o{row}.", "")
        assert made.row(line["item"]) == row and str(row) not in line["item"].split("-")[0].lstrip("0")[:4]


def test_the_interval_has_the_truth_and_the_metric_alone_has_not(made: LabelledOutput, tmp_path: Path) -> None:
    right = made.scored.array("truth").to_pylist().count("omission") / 2000
    inside = random = 0
    for seed in range(12):
        found = true_rates(made, read_items(made, filled(made, tmp_path / "l.csv", seed=seed)))
        one = found[0]
        inside += one.low <= right <= one.high
        random += one.random_labels
        assert (one.labels, one.rows, one.metric) == (120, 2000, float((made.fine != 0).mean()))
    assert inside >= 9  # of 12 at .95, fewer happens less than once in three hundred
    assert random > 12 * 180  # a metric that is right nine times in ten saves half as many again
    assert [one.rate for one in found] == ["not_ok_rate", "omission_rate", "hallucination_rate"]
    assert found[2].value == 0.0


def test_all_rows_labelled_give_the_rate_itself(made: LabelledOutput) -> None:
    truth = made.scored.array("truth").to_pylist()
    found = {one.group: one for one in true_rates(made, dict(enumerate(truth)), "system") if one.rate == "not_ok_rate"}
    for group, expected in ((None, truth), ("b", truth[::4])):
        one = found[group]
        assert (one.value, one.low, one.high) == pytest.approx((expected.count("omission") / len(expected),) * 3)
        assert one.labels == one.rows == one.random_labels == len(expected)


def test_spreadsheets_and_other_spellings_and_labels_without_a_side(made: LabelledOutput, tmp_path: Path) -> None:
    path = filled(made, tmp_path / "l.csv")
    before = true_rates(made, read_items(made, path))
    lines = lines_of(path)
    for line in lines:
        line["label"] = {"OK": " ok", "omission": "Omission "}[line["label"]]
    assert true_rates(made, read_items(made, write(path, lines, ";"))) == before
    for line in lines[:30]:
        line["label"] = ""
    lines[40]["label"] = "not OK"
    (one,) = true_rates(made, read_items(made, write(path, lines)))
    assert (one.rate, one.labels) == ("not_ok_rate", 90)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "good"}, r"line 2: label 'good'; write one of OK"),
        ({"item": "0000000000-00000000", "label": "OK"}, "is not of .* as it is now"),
        ({"item": "x", "label": "OK"}, "is not of"),
        ({"label": ""}, "has no label yet"),
        (b"", r"l\.csv"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'item,label\n"1,OK\n', "is not CSV"),
        (b"PAR1" * 9, "has no column 'item'"),
    ],
)
def test_what_people_cannot_have_meant_is_named(
    made: LabelledOutput, tmp_path: Path, change: dict[str, str] | bytes, message: str
) -> None:
    path = tmp_path / "l.csv"
    if isinstance(change, bytes):
        path.write_bytes(change)
    else:
        write(path, [line | change for line in lines_of(filled(made, path))])
    with pytest.raises(InputError, match=message):
        read_items(made, path)


def test_labels_of_another_scoring_or_without_a_label_of_the_metric_are_refused(
    made: LabelledOutput, tmp_path: Path
) -> None:
    path = filled(made, tmp_path / "l.csv")
    with pytest.raises(InputError, match="as it is now"):
        read_items(of(output(tmp_path / "other", 2000, seed=2)), path)
    ok = {row: label for row, label in read_items(made, path).items() if made.fine[row] == 0}
    with pytest.raises(InputError, match="no row that the metric calls omission has a human label"):
        true_rates(made, ok)


def test_from_sample_to_rate(tmp_path: Path) -> None:
    out, file = output(tmp_path / "out"), tmp_path / "labels.csv"
    assert scorer("sample", out, "--rows", 80, "--file", file).stdout == f"{file}\n"
    assert "exists, and may hold labels" in scorer("sample", out, "--file", file, code=2).stderr
    assert "has no label yet" in scorer("rate", out, "--labels", file, code=2).stderr
    scored_output = of(out)
    lines, truth = lines_of(file), scored_output.scored.array("truth").to_pylist()
    for line in lines:
        row = scored_output.row(line["item"])
        assert row is not None
        line["label"] = truth[row]
    write(file, lines)
    shown = scorer("rate", out, "--labels", file, "--by", "system").stdout
    assert "400 rows, 80 of them labelled" in shown and "all rows" in shown and "hallucination" in shown
    found = json.loads(scorer("rate", out, "--labels", file, "--json").stdout)
    first = found["rates"][0]
    assert (found["rows"], first["rate"], first["labels"]) == (400, "not_ok_rate", 80)
    assert first["low"] < first["value"] < first["high"]
    assert "no column 'none'" in scorer("rate", out, "--labels", file, "--by", "none", code=2).stderr
    other = write(tmp_path / "other.csv", [{**lines[0], "label": "omission+hallucination"}, *lines[1:]])
    assert "80 of them labelled" in scorer("rate", out, "--labels", file, "--labels", file).stdout
    again = scorer("rate", out, "--labels", file, "--labels", other, code=2).stderr
    assert "other labels for 1 rows of another --labels file" in again
