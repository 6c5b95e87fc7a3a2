"""The page for people who label rows, in a real browser, and the file that it saves."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scorer.evaluation.sampling import draw_rows, read_items, read_labels
from scorer.evaluation.sheet import as_page
from scorer.evaluation.true_rates import true_rates
from tests.audit.report.test_browser import PATIENCE, browser
from tests.evaluation.scored import output
from tests.run.calls import scorer

__all__ = ["browser"]  # a fixture


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[tuple[Any, Path]]:
    """The page of forty rows, as `scorer sample` writes it, and the output. A message or a request is an error."""
    out = output(tmp_path / "out", 400)
    file = tmp_path / "labels.html"
    said = scorer("sample", out, "--rows", 40, "--file", file).stderr
    assert f"open {file} in a browser, label, save labels.csv, then: scorer rate {out} --labels" in said
    context = browser.new_context(accept_downloads=True, viewport={"width": 1200, "height": 900})
    context.set_default_timeout(PATIENCE)
    opened, noticed = context.new_page(), []
    for event in ("console", "pageerror", "dialog"):
        opened.on(event, lambda message: noticed.append(str(message)))
    opened.on("request", lambda request: request.url.startswith(("file:", "blob:")) or noticed.append(request.url))
    opened.goto(file.as_uri())
    yield opened, out
    context.close()
    assert noticed == []


@pytest.mark.slow
def test_people_fill_in_the_page_and_rate_takes_what_it_saves(page: tuple[Any, Path], tmp_path: Path) -> None:
    opened, out = page
    labelled = read_labels(out, "out", ("system", "truth"))
    truth = labelled.scored.array("truth").to_pylist()
    assert opened.locator("article").count() >= 40
    assert opened.locator("#status").inner_text().startswith("0 of ")
    shown = opened.locator("body").inner_text()
    assert not re.search(r"\bsystem\b|confidence", shown), "neither the system nor the metric's label is there"
    items = opened.locator("article").evaluate_all("all => all.map(one => one.querySelector('input').name)")
    for number, item in enumerate(items):
        row = labelled.row(item)
        assert row is not None
        if number % 2:
            opened.keyboard.press({"OK": "1", "omission": "2"}[truth[row]])
        else:
            opened.locator("article").nth(number).locator(f"input[value='{truth[row]}']").check()
            opened.locator("article").nth(min(number + 1, len(items) - 1)).locator(".text").click()
    opened.locator("article").first.locator("input[type=text]").fill('a "quoted", comment')
    assert opened.locator("#status").inner_text() == f"{len(items)} of {len(items)} rows have a label"
    with opened.expect_download() as download:
        opened.get_by_role("button", name="Save CSV").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "labels.csv" and 'a ""quoted"", comment' in file.read_text("utf-8-sig")
    human = read_items(labelled, file)
    assert human == {row: truth[row] for row in human} and len(human) == len(items)
    assert true_rates(labelled, human)[0].labels == len(items)
    assert json.loads(scorer("rate", out, "--labels", file, "--json").stdout)["labels"] == len(items)


@pytest.mark.slow
def test_labels_stay_in_the_browser_and_an_empty_label_skips_a_row(page: tuple[Any, Path], tmp_path: Path) -> None:
    opened, out = page
    opened.keyboard.press("2")
    opened.reload()
    assert opened.locator("#status").inner_text().startswith("1 of ")
    opened.get_by_role("button", name="Next without a label").click()
    assert opened.locator("article.current legend").inner_text() == "Row 2"
    with opened.expect_download() as download:
        opened.get_by_role("button", name="Save CSV").click()
    download.value.save_as(tmp_path / "labels.csv")
    assert len(read_items(read_labels(out, "out"), tmp_path / "labels.csv")) == 1


def test_texts_are_data_in_the_page() -> None:
    hostile = "</script><script>alert(1)</script>&\u2028<!--"
    page = as_page([("item", [hostile], hostile)], "labels.csv").decode()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data)["rows"] == [{"item": "item", "facts": [hostile], "text": hostile}]
    assert "<" not in data and page.count("<script") == 2


def test_the_rows_are_those_of_the_csv_file(tmp_path: Path) -> None:
    out = output(tmp_path / "out", 400)
    scorer("sample", out, "--rows", 40, "--file", tmp_path / "a.csv")
    scorer("sample", out, "--rows", 40, "--file", tmp_path / "a.html")
    lines = list(csv.DictReader(io.StringIO((tmp_path / "a.csv").read_text("utf-8-sig"))))
    data = re.findall(r'id="data">(.*?)</script>', (tmp_path / "a.html").read_text("utf-8"), re.DOTALL)[0]
    assert [row["item"] for row in json.loads(data)["rows"]] == [line["item"] for line in lines]
    assert len(lines) == len(draw_rows(read_labels(out, "out", ("system",)), 40, 0, "system"))
