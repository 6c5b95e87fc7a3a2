"""The page in a real browser: it runs nothing but its own script, fetches nothing, and works for every reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scorer.audit.report import render
from tests.audit.report.conftest import Opened
from tests.audit.report.documents import document

Opens = Callable[..., Opened]
SCREENS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "width": 360},
}


def column(page: Any, table: str, number: int) -> list[str]:
    """The texts of a column of the table in a section."""
    found: list[str] = page.locator(f"#{table} tbody tr > :nth-child({number})").all_inner_texts()
    return found


def test_the_page_opens_filters_and_sorts(opens: Opens) -> None:
    opened = opens(render(document()))
    page = opened.page
    assert page.locator("#found").inner_text() == "8 of 8 rows found"
    page.locator("#find").fill("café FISH")
    assert page.locator(".case:visible h3").all_inner_texts() == ["part-0.parquet:54"]
    assert page.locator("#found").inner_text() == "1 of 8 rows found"
    page.locator("#find").fill("")
    page.locator("#kind").select_option("hallucination")
    assert page.locator(".case:visible .tag").all_inner_texts() == ["hallucination", "hallucination"]
    page.locator("#kind").select_option("")
    head = page.locator("#predicates > .scroll th", has_text="Facts checked")
    counts = [int(text.replace(",", "")) for text in column(page, "predicates > .scroll", 2)]
    for direction, reverse in (("descending", True), ("ascending", False)):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == direction
        ordered = [int(text.replace(",", "")) for text in column(page, "predicates > .scroll", 2)]
        assert ordered == sorted(counts, reverse=reverse)
    assert opened.messages == []
    assert opened.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
def test_no_screen_has_to_be_pushed_sideways(opens: Opens, screen: dict[str, Any]) -> None:
    opened = opens(render(document()), **screen)
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    assert width == screen.get("width", 1280)
    if width == 360:
        opened.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        cut = (
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.outerHTML)"
        )
        assert opened.page.evaluate(cut) == []
    if screen["color_scheme"] == "dark":
        assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert opened.messages == []
    # Pressing buttons and links by thumb: 24 pixels at least, as WCAG 2.2 has it.
    small = opened.page.evaluate(
        """[...document.querySelectorAll("button, nav a, summary, input, select")]
           .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).map(e => e.outerHTML)"""
    )
    assert small == []


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
@pytest.mark.parametrize("found", [document(), document(baseline=False, gated=False)], ids=["full", "bare"])
def test_axe_finds_no_obstacle(opens: Opens, axe: str, screen: dict[str, Any], found: Any) -> None:
    page = opens(render(found), **screen).page
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(violation.id, violation["nodes"][0]["html"]) for violation in result["violations"]] == []
    assert len(result["passes"]) > 20


@pytest.mark.slow
def test_it_is_complete_without_its_script(opens: Opens) -> None:
    page = opens(render(document()), java_script_enabled=False).page
    assert page.locator(".case:visible").count() == 8
    assert page.locator(".controls:visible, .search:visible").count() == 0
    assert page.locator("thead button").count() == 0
    assert page.locator("#gates tbody tr:visible").count() == 6


@pytest.mark.slow
def test_the_keyboard_reaches_everything(opens: Opens) -> None:
    page = opens(render(document())).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") == 0
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#figures"
    page.locator("#gates th button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#gates th").first.get_attribute("aria-sort") == "ascending"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.locator("summary").first.focus()
    page.keyboard.press("Space")
    assert page.locator("details").first.get_attribute("open") is not None
    reached = page.locator(".scroll").evaluate_all("all => all.every(one => one.tabIndex === 0)")
    assert reached


@pytest.mark.slow
def test_paper_gets_every_figure_in_dark_ink(opens: Opens) -> None:
    page = opens(render(document()), color_scheme="dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 32, 37)"
    assert page.locator("table:visible").count() == page.locator("table").count()
    assert page.locator(".controls:visible, nav.contents:visible").count() == 0
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between margins of a centimetre
    cut = page.evaluate("[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length")
    assert cut == 0
    assert page.pdf(format="A4")[:5] == b"%PDF-"
