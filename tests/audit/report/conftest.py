"""A browser for the tests that look at the page as its readers do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60_000  # milliseconds that a step of the browser may take on a busy machine
AXE = Path(__file__).resolve().parents[3] / ".venv-dev/axe/node_modules/axe-core/axe.min.js"


@dataclass
class Opened:
    """A page in the browser and what it did: messages, errors, requests but for its own file."""

    page: Any
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


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
def opens(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens a page from a file: markup, and options of the browser's context."""
    contexts = []

    def opens(markup: str, width: int = 1280, **options: Any) -> Opened:
        file = tmp_path / f"page-{len(contexts)}.html"
        file.write_text(markup, "utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        contexts[-1].set_default_timeout(PATIENCE)
        opened = Opened(contexts[-1].new_page())
        for event in ("console", "pageerror", "dialog"):
            opened.page.on(event, lambda found: opened.messages.append(str(found)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(file.as_uri())
        opened.requests.remove(file.as_uri())
        return opened

    yield opens
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    if not AXE.is_file():
        pytest.skip(f"no axe-core at {AXE}: `make test-slow` fetches it where npm is")
    return AXE.read_text("utf-8")
