"""The page to label in, in a real browser: keys, what it keeps, and the file it saves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorer.evaluation.rates.label_file import COLUMNS, Item, read_items, write_items
from scorer.evaluation.rates.page import render_page

Opens = Callable[..., Any]
HOSTILE = '</script><img src=x onerror="alert(1)"> "quoted", comma\nline \u2028 é'


def items(count: int = 4) -> list[Item]:
    texts = ["A pub.", HOSTILE, "   ", "=1+1"]
    return [
        Item(f"{n:010x}", "part-0.parquet", n, f"{n:032x}", ("A is a pub.", HOSTILE), texts[n % 4])
        for n in range(count)
    ]


def test_the_page_is_one_file_without_markup_from_data() -> None:
    page = render_page(items(), "out <i>")
    assert "<img" not in page and "out &lt;i&gt;" in page
    assert page.count("</script>") == 2  # the data and the program, each closed once
    assert "http" not in page.replace("http-equiv", "")


def test_a_text_is_no_formula_in_the_file() -> None:
    assert items()[3].cells()[COLUMNS.index("text")] == "'=1+1"


def test_labels_by_key_are_kept_and_saved(opens: Opens, tmp_path: Path) -> None:
    opened = opens(render_page(items(), "out"), accept_downloads=True)
    page = opened.page
    assert page.locator("#text").inner_text() == "A pub."
    page.keyboard.press("1")
    assert page.locator("#text").inner_text() == HOSTILE.replace("\u2028", "\u2028")
    assert page.locator("#facts li").all_inner_texts()[1].split() == HOSTILE.split()
    page.keyboard.press("4")
    assert page.locator("#text").inner_text() == "(empty text)"
    page.keyboard.press("c")
    page.keyboard.type("no 1 text")
    page.keyboard.press("Enter")
    page.locator("button[data-label=omission]").click()
    assert page.locator("#progress").inner_text() == "3 of 4 rows labelled"
    page.keyboard.press("ArrowLeft")
    assert page.locator("button[data-label=omission]").get_attribute("aria-pressed") == "true"
    assert page.locator("#comment").input_value() == "no 1 text"
    page.wait_for_timeout(1000)  # Chromium hands its store over in the background
    page.reload()
    assert page.locator("#progress").inner_text() == "3 of 4 rows labelled"
    assert page.locator("#place").inner_text() == "Row 3 of 4"
    page.keyboard.press("n")
    assert page.locator("#place").inner_text() == "Row 4 of 4"
    with page.expect_download() as download:
        page.keyboard.press("s")
    file = tmp_path / "labels.csv"
    download.value.save_as(file)
    assert [item.label for item in read_items(file)] == ["OK", "omission+hallucination", "omission", None]
    # But for the labels and comments, the saved file is the one that `scorer sample` wrote.
    saved = file.read_bytes().decode("utf-8-sig")
    for label in (",OK,\r", ",omission+hallucination,\r", ",omission,no 1 text\r"):
        assert saved.count(label) == 1
        saved = saved.replace(label, ",,\r")
    assert saved == write_items(items()).decode("utf-8-sig")
    assert opened.messages == []
    assert [request for request in opened.requests if not request.startswith(("blob:", "file:"))] == []


def test_removing_all_labels_asks_first(opens: Opens) -> None:
    page = opens(render_page(items(), "out")).page
    page.keyboard.press("2")
    page.once("dialog", lambda dialog: dialog.accept())
    page.locator("#clear").click()
    assert page.locator("#progress").inner_text() == "0 of 4 rows labelled"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_and_a_screen_reader_can_use_it(opens: Opens, axe: str, scheme: str) -> None:
    page = opens(render_page(items(), "out"), width=360, color_scheme=scheme).page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.evaluate(axe)
    found = page.evaluate("axe.run().then(result => result.violations.map(one => one.id))")
    assert found == []
