"""The page in a real browser: it runs nothing but its own script, fetches nothing, and works for every reader."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scorer.audit.report import render
from tests.audit.report.documents import document
from tests.conftest import ROOT

SCREENS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"color_scheme": "light", "width": 360},
}
WIDER = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.outerHTML)"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60_000  # milliseconds that a step of the browser may take on a busy machine
AXE = ROOT / ".venv-dev/axe/node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window. It goes with the module, because its driver occupies the thread's event loop."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip("no Chromium here, which this test looks at the report with: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=found)
        yield launched
        launched.close()


@pytest.fixture
def opens(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page from a file: markup, and options of the browser's context. A message or a request is an error."""
    contexts, noticed = [], []

    def opens(markup: str, width: int = 1280, **options: Any) -> Any:
        file = tmp_path / f"page-{len(contexts)}.html"
        file.write_text(markup, "utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        contexts[-1].set_default_timeout(PATIENCE)
        page = contexts[-1].new_page()
        for event in ("console", "pageerror", "dialog"):
            page.on(event, lambda found: noticed.append(str(found)))
        page.on("request", lambda request: request.url == file.as_uri() or noticed.append(request.url))
        page.goto(file.as_uri())
        return page

    yield opens
    for context in contexts:
        context.close()
    assert noticed == []


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    if not AXE.is_file():
        pytest.skip(f"no axe-core at {AXE}: `make test-slow` fetches it where npm is")
    return AXE.read_text("utf-8")


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
def test_no_screen_has_to_be_pushed_sideways(opens: Callable[..., Any], screen: dict[str, Any]) -> None:
    page = opens(render(document()), **screen)
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
    assert small == []


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS.keys())
@pytest.mark.parametrize("found", [document(), document(baseline=False, gated=False)], ids=["full", "bare"])
def test_axe_finds_no_obstacle(opens: Callable[..., Any], axe: str, screen: dict[str, Any], found: Any) -> None:
    page = opens(render(found), **screen)
    page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
    page.evaluate(axe)
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(violation.id, violation["nodes"][0]["html"]) for violation in result["violations"]] == []
    assert len(result["passes"]) > 20


@pytest.mark.slow
def test_the_keyboard_reaches_everything_without_the_script_too(opens: Callable[..., Any]) -> None:
    page = opens(render(document()), java_script_enabled=False)
    assert page.locator("#worst .case:visible").count() == 5
    assert page.locator("#gates tbody tr:visible").count() == 5
    page.locator("#gates summary").click()  # a fold opens without the script
    assert page.locator("#gates tbody tr:visible").count() == 6
    page = opens(render(document()))
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
