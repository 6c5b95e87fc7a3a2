"""What got worse, and the files for pipelines: Markdown for a step summary, metrics for Prometheus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from scorer.audit.report import MOST_LINES, markdown, metrics
from scorer.audit.report.exports import MOST_GROUPS
from scorer.audit.report.text import UNSEEN
from tests.audit.nights import command, gates_file, night, row
from tests.audit.report.hostile import TEXTS

SHOWN = {"text", "code_inline", "softbreak", "text_special", "strong_open", "strong_close"}
SAMPLE = re.compile(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\.)*)"')


def good(name: str, **more: Any) -> dict[str, Any]:
    return row(f"{name} text", subject=name, **more)


def bad(name: str, text: str | None = None, **more: Any) -> dict[str, Any]:
    return row(text or f"{name} text", [("food", 0.1)], subject=name, **more)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Three rows stay; one flips, one is OK again; one has another text and fails; at one place is another input, which
    fails; one failing row is new at the end."""
    folder = tmp_path_factory.mktemp("pipelines")
    same = [good("A"), good("B"), bad("C")]
    before = [*same, good("D"), bad("E"), good("F"), good("G")]
    now = [*same, bad("D"), good("E"), bad("F", "F |new| <b>*text*</b>\n# x"), bad("H"), bad("I")]
    return night(folder / "before", before), night(folder / "now", now, finished="2026-01-02T03:00:00+00:00")


@pytest.fixture(scope="module")
def document(outputs: tuple[Path, Path]) -> Document:
    return audit(outputs[1], AuditOptions(baseline=outputs[0]))


def test_the_summary_is_short_and_data_cannot_change_its_form(outputs: tuple[Path, Path], tmp_path: Path) -> None:
    gates = gates_file(tmp_path, 'metric = "not_ok_rate"\nfail = 0.1', *['metric = "error_rate"\nfail = 0.99'] * 40)
    files = [str(tmp_path / name) for name in ("s.md", "m.prom")]
    options = ("--baseline", outputs[0], "--gates", gates, "--summary", files[0], "--metrics", files[1])
    command("audit", outputs[1], *options, code=1)
    text = Path(files[0]).read_text()
    lines = text.splitlines()
    assert lines[0].startswith("## Failed: ") and len(lines) < MOST_LINES
    assert sum(line.startswith("- **fail**") for line in lines) == 1
    assert "    - now: F \\|new\\| \\<b\\>\\*text\\*\\</b\\> \\# x" in lines
    assert {'d2t_audit_gates{result="fail"} 1', "d2t_audit_failed 1"} <= set(Path(files[1]).read_text().splitlines())


def told(text: str, document: Document) -> Document:
    """The document with ``text`` wherever the summary shows a text."""
    worse, group = document.worse, document.groups[0]
    rows = [replace(one, text_before=text, now=replace(one.now, file=text, text="now " + text)) for one in worse.rows]
    findings = [replace(document.findings[0], severity="warn", kind="drift", message=text, rows=rows[:2])]
    groups = [group, replace(group, group={"system": text})]
    worse = replace(worse, rows=rows)
    return replace(document, out=text, partial=text, worse=worse, findings=findings, groups=groups)


@pytest.mark.parametrize(
    "hostile", [*TEXTS.values(), "x`https://a.example/?q=`|www.b.example @team a@c.example ``x`` \\`"]
)
def test_a_summary_shows_no_link_and_nothing_unseen(document: Document, hostile: str) -> None:
    tokens = MarkdownIt().enable("table").parse(markdown(told(hostile, document)))
    inner = [one for token in tokens for one in token.children or ()]
    assert {one.type for one in inner} <= SHOWN
    said = "".join(" " if one.type == "code_inline" else one.content for one in inner)
    assert not re.search(r"://|www\.|@", said)
    assert not UNSEEN.search("".join(one.content for one in inner))


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """The samples of a text file, read by the rules of the format."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match, line
            key = (match[1], tuple(LABEL.findall(match[2] or "")))
            assert key not in found, f"{line} is there twice"
            found[key] = float(match[3])
    return found


def test_metrics_have_the_figures_of_the_document(document: Document) -> None:
    text = metrics(document)
    found = parsed(text)
    whole = document.groups[0]
    assert found["d2t_audit_rows", (("group", "all rows"),)] == whole.rows == 8
    assert found["d2t_audit_rate_ratio", (("group", "all rows"), ("rate", "not_ok"))] == 5 / 8
    assert found["d2t_audit_baseline_rows", (("change", "flipped_to_not_ok"),)] == 1
    assert found["d2t_audit_finished_timestamp_seconds", ()] == 1767322800
    declared = re.findall(r"# TYPE (\S+) gauge", text)
    assert len(declared) == len(set(declared)) and {name for name, _ in found} == set(declared)


def test_metrics_have_a_bounded_number_of_series_and_escape_names(document: Document) -> None:
    one = document.groups[0]
    names = [f'a"\\\n{i}' + "x" * 500 * (i % 2) for i in range(900)]
    named = [replace(one, group={"system": name}, grouping=["system"], rows=i) for i, name in enumerate(names)]
    found = parsed(metrics(replace(document, groups=[one, *named])))
    rows = [labels for name, labels in found if name == "d2t_audit_rows"]
    assert len(rows) <= MOST_GROUPS + 1
    assert (("group", 'system=a\\"\\\\\\n898'),) in rows
