"""The command: what the console says first, exit codes, JUnit, and outputs that do not hold all of their inputs."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from scorer.audit import AuditOptions, audit, builder, history
from scorer.audit.document import RATES, Document
from scorer.audit.report import MOST_LINES, markdown, metrics
from scorer.audit.report.exports import MOST_GROUPS
from scorer.audit.report.text import UNSEEN
from scorer.audit.scan import scan_output
from scorer.errors import OutputError, UsageError
from tests.audit.nights import SIGNATURE, command, gates_file, night, of_system, row
from tests.audit.report.documents import TEXTS
from tests.conftest import ROOT
from tests.docs.test_examples import blocks

LIMITED = "only the first 10 rows were scored (--limit)"


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("nights")
    rows = [row(f"t{i}", [("food", 0.2 if i < 20 else 0.9)], system="[b]" if i % 2 else "a&<") for i in range(100)]
    return night(folder / "before", rows, shards=3), night(folder / "after", rows[10:], shards=2)


def test_the_console_says_the_essentials(nights: tuple[Path, Path]) -> None:
    text = command("audit", nights[1], "--baseline", nights[0]).stdout
    assert text.startswith(f"Nothing got worse: {nights[1]}\n\n")
    assert "\n90 rows, 90 scored, 0 reused\n" in text
    assert "0 rows added, 10 removed, 90 kept, 0 of these with another label" in text
    assert SIGNATURE in text
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert lines["all rows"][2:5] == ["90", "11.1%", "6.1–19.3"]
    assert {"system=[b]", "system=a&<"} < {*lines}


def test_a_gate_that_fails_is_exit_1(nights: tuple[Path, Path], tmp_path: Path) -> None:
    xml = tmp_path / "junit.xml"
    gates = gates_file(
        tmp_path,
        'metric = "not_ok_rate"\nwarn = 0.05\nfail = 0.10',
        'metric = "not_ok_rate"\nwarn = 0.1\nby = ["system"]',
        'metric = "error_rate"\nfail = 0\nmin_rows = 1000',
    )
    result = command("audit", nights[1], "--gates", gates, "--junit", xml, code=1)
    assert "scorer: 1 of 4 gates failed" in result.stderr
    assert result.stdout.startswith("Failed: ")
    suite = ElementTree.parse(xml).getroot()[0]
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "1"]
    assert [(case.get("classname"), *(child.tag for child in case)) for case in suite] == [
        ("audit.all rows", "failure"),
        ("audit.system=[b]", "system-out"),
        ("audit.system=a&<", "system-out"),
        ("audit.all rows", "skipped"),
    ]
    expected = "all rows: not_ok_rate 11.1%, 95% interval 6.1% to 19.3% (warn above 5.0%, fail above 10.0%)"
    assert suite[0][0].text == expected
    gates_file(tmp_path, 'metric = "not_ok_rate"\nwarn = 0.05\nfail = 0.2')
    assert command("audit", nights[1], "--gates", gates).stdout.startswith("Passed with warnings: ")


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_limit_is_said_first_and_not_compared_with_a_complete_output(tmp_path: Path) -> None:
    part, whole = (night(tmp_path / str(rows), [row(f"t{i}") for i in range(rows)]) for rows in (10, 30))
    edit(part / "_plan.json", limit=10)
    page, xml = tmp_path / "report.html", tmp_path / "junit.xml"
    shown = command("audit", part, "--report", page, "--junit", xml).stdout
    assert shown.startswith(f"Partial output: {LIMITED}\n\nNo gates set: ")
    text = page.read_text()
    assert text.index(LIMITED) < text.index("<h1>") and "<title>Partial. " in text
    properties = ElementTree.parse(xml).getroot()[0].find("properties")
    assert properties[0].attrib == {"name": "partial", "value": LIMITED}
    for out, baseline in ((part, whole), (whole, part)):
        said = r"the output is (partial \(.*|complete), and the baseline is (partial \(.*|complete): .*--allow-partial"
        with pytest.raises(UsageError, match=said):
            audit(out, AuditOptions(baseline=baseline))
    document = audit(whole, AuditOptions(baseline=part, allow_partial=True))
    assert (document.partial, document.baseline.partial) == (None, LIMITED)
    assert document.baseline_changes.added == 20
    edit(part / "_plan.json", limit=11)  # which cut nothing
    assert audit(part).partial is None


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


def rows(said: float) -> list[Any]:
    return [row(f"t{i}", said=said) for i in range(12)]


def scored_again(out: Path) -> None:
    """The folder as a later run leaves it."""
    other = night(out.parent / "again", rows(0.1), shards=3, finished="2026-02-02T03:00:00+00:00")
    shutil.rmtree(out)
    other.rename(out)


def one_receipt(out: Path) -> None:
    """Between two shards: a receipt was taken away, its output is not yet replaced."""
    (out / "_receipts" / "part-1.parquet.json").unlink()


def another_file(out: Path) -> None:
    """The same bytes and receipt, but another file: somebody copies into the folder."""
    path = out / "part-0.parquet"
    path.with_suffix(".copy").write_bytes(path.read_bytes())
    path.with_suffix(".copy").rename(path)


@pytest.mark.parametrize(
    ("change", "name", "which", "before"),
    [
        (scored_again, "_run.json", "out", True),
        (one_receipt, "_receipts/part-1.parquet.json", "out", True),
        (another_file, "part-0.parquet", "out", True),
        (one_receipt, "_receipts/part-1.parquet.json", "baseline", False),
    ],
)
def test_what_changes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, name: str, which: str, before: bool
) -> None:
    """Just before, or just after, the rows of a folder are read."""
    folders = {name: night(tmp_path / name, rows(0.9), shards=3) for name in ("out", "baseline")}
    history = tmp_path / "history.parquet"

    def read(output: Any, *arguments: Any) -> Any:
        mine = output.outs == (folders[which],)
        if mine and before:
            change(folders[which])
        found = scan_output(output, *arguments)
        if mine and not before:
            change(folders[which])
        return found

    monkeypatch.setattr(builder, "scan_output", read)
    with pytest.raises(OutputError) as caught:
        audit(folders["out"], AuditOptions(baseline=folders["baseline"], history=history))
    assert str(caught.value).startswith(f"{folders[which]} changed while it was read (") and name in str(caught.value)
    assert caught.value.exit_code == 2
    assert not history.exists()


@pytest.mark.parametrize("count", [11, 13])
def test_a_summary_of_more_or_fewer_rows_than_the_files(tmp_path: Path, count: int) -> None:
    out = night(tmp_path / "out", rows(0.9))
    summary = json.loads((out / "_run.json").read_text())
    (out / "_run.json").write_text(json.dumps({**summary, "rows": {**summary["rows"], "in": count}}))
    with pytest.raises(OutputError, match=f"its files have 12 rows, its _run.json says {count}"):
        audit(out)


def test_it_grows_by_a_run_and_a_run_again_replaces_itself(tmp_path: Path) -> None:
    file = tmp_path / "h" / "history.parquet"
    file.parent.mkdir()
    outs = [
        night(tmp_path / str(day), of_system(2, 10 + day, "a"), finished=f"2026-01-0{day}T03:00:00+00:00")
        for day in (1, 2)
    ]
    for out in (*outs, outs[1], outs[0]):
        document = audit(out, AuditOptions(history=file))
    found = pq.read_table(file)
    assert found["night"].to_pylist() == ["2026-01-01T03:00:00+00:00"] * 2 + ["2026-01-02T03:00:00+00:00"] * 2
    assert found["group"].to_pylist() == ["{}", '{"system": "a"}'] * 2
    assert found["not_ok_rate"].to_pylist()[::2] == [2 / 11, 2 / 12]
    assert [line.night for line in document.history] == found["night"].to_pylist()
    assert [path.name for path in file.parent.iterdir()] == ["history.parquet"]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", [row(system=s) for s in "ab"]))
    nights = [replace(document, finished=f"2026-01-{day:02}T03:00:00+00:00") for day in range(1, 13)]
    file = tmp_path / "history.parquet"
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda one: len(history.append(file, one)), nights))
    assert sorted(seen) == [3 * n for n in range(1, 13)]
    found = pq.read_table(file)["night"].to_pylist()
    assert found == sorted(found) and len(found) == 36


def test_the_python_of_the_page(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "audit.md", "python")
    names: dict[str, Any] = {}
    exec(compile(code, "audit.md", "exec"), names)
    nights = [night(tmp_path / name, [row(system="a")]) for name in ("before", "after")]
    shown = names["show"](nights[1], nights[0])
    assert shown.document.baseline.rows == 1
    assert "<iframe" in shown._repr_html_()


GOOD: dict[str, Any] = {
    "night": "2025-12-31T03:00:00+00:00",
    "signature": "s",
    "status": "pass",
    "group": "{}",
    "rows": 3,
    "mean_confidence": None,
    **dict.fromkeys(RATES, 0.5),
}


@pytest.mark.parametrize(
    ("changes", "schema", "message"),
    [
        ({"status": "fine"}, b"1", "[1].status: Invalid enum value 'fine'"),
        ({"group": "[" * 100_000}, b"1", "is not a history"),
        ({"empty_rate": float("nan")}, b"1", "[1].rates[...]: Expected `float` >= 0.0"),
        ({}, b"7", "it has schema 7, and this version reads schema 1"),
    ],
)
def test_what_no_audit_wrote_is_refused(tmp_path: Path, changes: dict[str, Any], schema: bytes, message: str) -> None:
    file, columns = tmp_path / "history.parquet", history.COLUMNS.with_metadata({b"d2t_scorer.history": schema})
    pq.write_table(pa.Table.from_pylist([GOOD, GOOD | changes], columns), file)
    before = file.read_bytes()
    said = command("audit", night(tmp_path / "out", [row("t")]), "--history", file, code=2).stderr
    assert message in said and len(said.strip().splitlines()) == 1
    assert file.read_bytes() == before
