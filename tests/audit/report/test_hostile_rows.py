"""From scored Parquet to the page: hostile texts, facts and groups come out as what they are."""

from __future__ import annotations

import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.report import render
from tests.audit.nights import night, row
from tests.audit.report.hostile import TEXTS
from tests.audit.report.parsing import Node, parse

WRITABLE = {name: text for name, text in TEXTS.items() if "\ud800" not in text}  # Parquet holds UTF-8
ORDINARY = """
html head meta link title style body a header div p b h1 h2 h3 button svg circle path line rect text dl dt dd
section ul ol li nav main table caption thead tbody tr th td details summary figure figcaption label input
select option span bdi i code wbr blockquote footer script
"""


def allowed(page: Node) -> tuple[set[str], set[str]]:
    return {node.name for node in page.walk()}, {name for node in page.walk() for name in node.attributes}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two runs; in the second every text, subject, predicate and system is replaced by a hostile one."""
    folder = tmp_path_factory.mktemp("nights")
    kind = [(0.1, 0.9), (0.9, 0.1), (0.1, 0.1)]
    before = [row(f"text {i}", [("food", 0.9), ("area", 0.9)], system="a") for i in range(len(WRITABLE))]
    after = []
    for i, text in enumerate(WRITABLE.values()):
        omitted, said = kind[i % 3]
        name = text.strip() or "blank"
        after.append(row(text, [(name, omitted), ("area", 0.9)], said, subject=name, system=text))
    options = AuditOptions(baseline=night(folder / "before", before), by=(("system",),))
    return render(audit(night(folder / "after", after), options))


def test_no_text_becomes_an_element(page: str) -> None:
    root = parse(page)
    names, attributes = allowed(root)
    assert names - {"root"} <= set(ORDINARY.split())
    assert len(root.find("script")) == 1
    assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcdoc", "action")]
    assert all((link.attributes["href"] or "").startswith("#") for link in root.find("a"))


def test_every_text_is_shown_as_it_is(page: str) -> None:
    """The sample holds each text, whole where it is not longer than the cut."""
    root = parse(page)
    said = []
    for quote in root.find("blockquote"):
        for span in quote.find("span", class_="unseen"):
            span.children = [chr(int(span.text.removeprefix("U+"), 16))]
        said.append(quote.text)
    for name, text in WRITABLE.items():
        if text.strip() and len(text) <= 700:
            assert text.replace("\r\n", "\n") in said, name
