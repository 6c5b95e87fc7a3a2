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
WIDER = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.outerHTML)"


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
def test_no_screen_has_to_be_pushed_sideways(opens: Opens, screen: dict[str, Any]) -> None:
    opened = opens(render(document()), **screen)
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") == screen.get("width", 1280)
    if "width" in screen:
        page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        assert page.evaluate(WIDER) == []
        assert page.locator("#gates td").first.get_attribute("data-label") == "Metric"
    if screen["color_scheme"] == "dark":
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    # Pressing links by thumb: 24 pixels at least, as WCAG 2.2 has it.
    small = page.evaluate(
        """[...document.querySelectorAll("nav a, summary")]
           .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).map(e => e.outerHTML)"""
    )
    assert small == opened.messages == opened.requests == []


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
def test_the_keyboard_reaches_everything_without_the_script_too(opens: Opens) -> None:
    page = opens(render(document()), java_script_enabled=False).page
    assert page.locator("#worst .case:visible").count() == 8
    assert page.locator("#gates tbody tr:visible").count() == 6
    page = opens(render(document())).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") == 0
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#figures"
    page.locator("summary").first.focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Space")
    assert page.locator("details").first.get_attribute("open") is not None
    assert page.locator(".scroll").evaluate_all("all => all.every(one => one.tabIndex === 0)")
