"""The report in a notebook."""

from __future__ import annotations

from scorer.audit.report import Audit, render
from tests.audit.report.documents import document
from tests.audit.report.hostile import infected
from tests.audit.report.parsing import parse


def test_a_notebook_shows_the_page_in_a_frame_that_reaches_nothing() -> None:
    shown = Audit(document())._repr_html_()
    frame = parse(shown).one("iframe")
    assert frame.attributes["sandbox"] == "allow-scripts"  # with an origin, the script could reach the notebook
    assert frame.attributes["title"] == "Audit report"
    assert frame.attributes["srcdoc"] == render(document(), embedded=True)
    assert parse(frame.attributes["srcdoc"] or "").one("html").attributes["data-embedded"] == "yes"


def test_what_a_notebook_gets_is_one_frame_whatever_the_data_says() -> None:
    root = parse(Audit(infected('"></iframe><script>window.pwned = 1</script>'))._repr_html_())
    assert [node.name for node in root.walk()] == ["root", "iframe"]


def test_elsewhere_it_is_short() -> None:
    assert repr(Audit(document())) == "Audit(status='fail', out='/data/scored/2026-11-21')"
    assert Audit(document()).html() == render(document())
