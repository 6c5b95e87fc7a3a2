"""What got worse, and the files for pipelines: Markdown for a step summary, metrics for Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from scorer.audit.report import MOST_LINES, markdown, metrics
from scorer.audit.report.exports import MOST_GROUPS
from scorer.audit.report.text import UNSEEN
from tests.audit.nights import command, gates_file, night, row
from tests.audit.report.documents import TEXTS

SHOWN = {"text", "code_inline", "softbreak", "text_special", "strong_open", "strong_close"}
SAMPLE = re.compile(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\.)*)"')
LINKS = "x`https://a.example/?q=`|www.b.example @team a@c.example ``x`` \\`"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Three rows stay; one flips, one is OK again; one has another text and fails; at one place is another input, which
    fails; one failing row is new at the end."""
    folder = tmp_path_factory.mktemp("pipelines")

    def good(names: str) -> list[dict[str, object]]:
        return [row(f"{name} text", subject=name) for name in names]

    def bad(names: str, text: str = "text") -> list[dict[str, object]]:
        return [row(f"{name} {text}", [("food", 0.1)], subject=name) for name in names]

    same = good("AB") + bad("C")
    now = same + bad("D") + good("E") + bad("F", "|new| <b>*text*</b>\n# x") + bad("HI")
    before = night(folder / "before", same + good("D") + bad("E") + good("FG"))
    return before, night(folder / "now", now, finished="2026-01-02T03:00:00+00:00")


@pytest.fixture(scope="module")
def document(outputs: tuple[Path, Path]) -> Document:
    return audit(outputs[1], AuditOptions(baseline=outputs[0]))


def test_the_summary_is_short_and_data_cannot_change_its_form(outputs: tuple[Path, Path], tmp_path: Path) -> None:
    gates = gates_file(tmp_path, 'metric = "not_ok_rate"\nfail = 0.1', *['metric = "error_rate"\nfail = 0.99'] * 40)
    summary, prometheus = tmp_path / "s.md", tmp_path / "m.prom"
    options = ("--baseline", outputs[0], "--gates", gates, "--summary", summary, "--metrics", prometheus)
    command("audit", outputs[1], *options, code=1)
    lines = summary.read_text().splitlines()
    assert lines[0].startswith("## Failed: ") and len(lines) < MOST_LINES
    assert sum(line.startswith("- **fail** all rows: not\\_ok\\_rate") for line in lines) == 1
    assert "    - now: F \\|new\\| \\<b\\>\\*text\\*\\</b\\> \\# x" in lines
    assert {'d2t_audit_gates{result="fail"} 1', "d2t_audit_failed 1"} <= {*prometheus.read_text().splitlines()}


@pytest.mark.parametrize("hostile", [*TEXTS.values(), LINKS])
def test_a_summary_shows_no_link_and_nothing_unseen(document: Document, hostile: str) -> None:
    """With the text wherever the summary shows one."""
    worse, group = document.worse, document.groups[0]
    rows = [replace(one, text_before=hostile, now=replace(one.now, file=hostile, text=hostile)) for one in worse.rows]
    finding = replace(document.findings[0], severity="warn", kind="drift", message=hostile, rows=rows[:2])
    groups = [group, replace(group, group={"system": hostile})]
    changed = replace(document, out=hostile, partial=hostile, worse=replace(worse, rows=rows), findings=[finding])
    tokens = MarkdownIt().enable("table").parse(markdown(replace(changed, groups=groups)))
    inner = [one for token in tokens for one in token.children or ()]
    assert {one.type for one in inner} <= SHOWN
    assert not re.search(r"://|www\.|@", "".join(" " if one.type == "code_inline" else one.content for one in inner))
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
    assert found["d2t_audit_rows", (("group", "all rows"),)] == 8
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
