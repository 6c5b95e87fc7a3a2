"""Gates: what rings, what is silent, what cannot be meant, files that are hostile, and the examples of the pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Checked, Document, Gate
from scorer.audit.gate_rules import LARGEST_FILE, METRICS, OF_BASELINE, SHARES, load_gates
from scorer.audit.suggest import EXACT, POINTS, detectable, exceeds, posterior
from scorer.errors import UsageError
from scorer.system.codec import decode
from tests.audit.nights import Row, command, compared, gates_file, night, of_system, table
from tests.conftest import ROOT
from tests.docs.test_examples import blocks
from tests.scored_outputs import finish

RATE = '[[gates]]\nmetric = "not_ok_rate"\n'


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("nights")
    before = of_system(10, 100, "a", n=100) + of_system(20, 100, "b", n=100) + of_system(5, 10, "c", n=10)
    after = of_system(10, 100, "a", n=100) + of_system(50, 100, "b", 1000, n=100) + of_system(5, 10, "c", n=10)
    after[0]["error"] = "too_long:omission"
    after[1]["text"] = ""
    counted = {"food": {"template": 150, "backoff": 60}}
    return night(folder / "before", before), night(folder / "after", after, by_predicate=counted)


def judged(nights: tuple[Path, Path], tmp_path: Path, *gates: str) -> list[Gate]:
    return audit(nights[1], AuditOptions(baseline=nights[0], gates=(gates_file(tmp_path, *gates),))).gates


def test_each_metric(nights: tuple[Path, Path], tmp_path: Path) -> None:
    gates = [f'metric = "{metric}"\nwarn = {0.01 if metric == "mean_confidence" else 0.0}' for metric in METRICS]
    document = audit(nights[1], AuditOptions(baseline=nights[0], gates=(gates_file(tmp_path, *gates),)))
    found = {one.metric: one for one in document.gates}
    group = document.groups[0]
    right = {name: one.added.value for name, one in group.change.added_rates.items()}
    right |= {name: rate.value for name, rate in group.rates.items()}
    right |= {"mean_confidence": group.confidence.mean, "backoff_rate": 60 / 210}
    right |= {"label_flips": 0.0, "psi_confidence": group.change.confidence.psi, "rows": 0.0}
    assert {name: one.value for name, one in found.items()} == right
    assert (right["not_ok_rate"], right["error_rate"], right["empty_rate"]) == (65 / 210, 1 / 210, 1 / 210)
    quiet = {
        "label_flips",
        "rows",
        "hallucination_rate",
        "mean_confidence",
        "added_hallucination_rate",
        "added_error_rate",
    }
    quiet |= {"contradicted_rate", "added_contradicted_rate"}  # not known
    # 210 rows are too few to judge the index.
    assert {name for name, one in found.items() if one.status == "warn"} == {*METRICS} - quiet - {"psi_confidence"}
    assert found["psi_confidence"].status == "silent"
    assert found["not_ok_rate"].low is not None and found["backoff_rate"].low is not None


def test_thresholds_are_the_last_values_that_pass(nights: tuple[Path, Path], tmp_path: Path) -> None:
    expected = [
        ("not_ok_rate", "warn = 0.5", "pass"),
        ("not_ok_rate", "warn = 0.49", "warn"),
        ("not_ok_rate", "fail = 0.49", "fail"),
        ("not_ok_rate", "warn = 0.1\nfail = 0.6", "warn"),
        ("not_ok_rate", "warn = 0\nfail = 0\nmin_rows = 101", "silent"),
        ("not_ok_rate", "warn = 0\nfail = 0\nmin_rows = 100", "fail"),
        ("mean_confidence", "warn = 0.6\nfail = 0.45", "warn"),  # it is 0.5, and lower is worse
        ("mean_confidence", "warn = 0.4", "pass"),
        ("label_flips", "fail = 0", "silent"),  # no row of b is in both nights
    ]
    of_b = [f'metric = "{metric}"\ngroup = {{ system = "b" }}\n{limits}' for metric, limits, _ in expected]
    *found, everywhere = judged(nights, tmp_path, *of_b, 'metric = "label_flips"\nfail = 0')
    assert [one.status for one in found] == [status for *_, status in expected]
    assert everywhere.status == "pass"


def test_a_value_equal_to_a_threshold_passes_whatever_the_rounding(tmp_path: Path) -> None:
    assert 28 / 100 - 20 / 100 > 0.08  # as floats go
    gate = 'metric = "not_ok_rate"\nagainst = "baseline"\nfail = {}'
    file = gates_file(tmp_path, gate.format(0.08), gate.format(0.0799))
    document = compared(tmp_path, of_system(20, 100, "a"), of_system(28, 100, "a", 500), gates=(file,))
    assert [one.status for one in document.gates] == ["pass", "fail"]


def test_against_the_baseline_the_increase_counts(nights: tuple[Path, Path], tmp_path: Path) -> None:
    expected = [
        ("not_ok_rate", "warn = 0.1\nfail = 0.29", ["pass", "fail", "pass"]),
        ("mean_confidence", "warn = 0.1\nfail = 0.2", ["pass", "warn", "pass"]),
        ("mean_confidence", "warn = -0.1\nfail = -0.2", ["pass", "warn", "pass"]),
        ("backoff_rate", "warn = 0", ["fail"] * 3),
    ]
    by = 'metric = "{}"\nby = ["system"]\nagainst = "baseline"\n{}'
    found = judged(nights, tmp_path, *(by.format(*one[:2]) for one in expected))
    assert [one.status for one in found] == [status for *_, statuses in expected for status in statuses]
    b, confidence, same, backoff = found[1::3]
    assert (b.value, b.before, b.now) == (pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.5))
    assert b.message.startswith("system=b: not_ok_rate 50.0%, +30.0 points since the baseline (20.0%), 95% interval +")
    assert confidence.value == same.value == pytest.approx(-0.18)
    assert (backoff.value, backoff.reason) == (None, "the baseline has no such figure")


def test_groups_by_values_of_any_type_and_groups_that_are_not_there(nights: tuple[Path, Path], tmp_path: Path) -> None:
    gate = 'metric = "not_ok_rate"\nfail = 0\n'
    one, *by = judged(nights, tmp_path, gate + 'group = { n = 10, system = "c" }', gate + 'by = ["n", "system"]')
    assert (one.rows, one.status, one.value) == (10, "fail", 0.5)
    assert one.group == {"n": "10", "system": "c"}
    assert [one.group for one in by] == [{"n": "10", "system": "c"}, *({"n": "100", "system": s} for s in "ab")]
    absent = 'metric = "not_ok_rate"\nwarn = 0.9\ngroup = { system = "x" }'
    failed, accepted = judged(nights, tmp_path, absent, absent + '\nmissing = "pass"')
    assert (failed.status, accepted.status) == ("fail", "pass")
    assert failed.reason == "no row has system=x; there is system=a; system=b; system=c"
    assert accepted.message.endswith('; accepted by missing = "pass"')


def test_what_added_rows_are_compared_with(tmp_path: Path) -> None:
    same, removed, added = of_system(40, 400, "s"), of_system(10, 100, "s", 1000), of_system(30, 100, "s", 5000)
    expected = [
        ("fail = 0.1", 0.3, None, "fail"),
        ('against = "removed"\nfail = 0.1', 0.2, 0.1, "fail"),
        # With both thresholds both must say so.
        ('against = "removed"\nfail = 0.1\nfail_p = 0.001', 0.2, 0.1, "fail"),
        ('against = "removed"\nfail = 0.3\nfail_p = 0.001', 0.2, 0.1, "pass"),
        ('against = "removed"\nfail = 0.1\nfail_p = 1e-9', 0.2, 0.1, "pass"),
    ]
    file = gates_file(tmp_path, *(f'metric = "added_not_ok_rate"\n{gate}' for gate, *_ in expected))
    found = compared(tmp_path, same + removed, same + added, gates=(file,)).gates
    right = [(pytest.approx(value), before, status, 100) for _, value, before, status in expected]
    assert [(gate.value, gate.before, gate.status, gate.rows) for gate in found] == right
    # Where almost nothing was removed, the whole baseline is compared.
    whole = audit(tmp_path / "after", AuditOptions(baseline=night(tmp_path / "same", same), gates=(file,))).gates[2]
    assert (whole.before, whole.status) == (pytest.approx(0.1), "fail")
    assert "against the removed rows" in found[2].message and "against the baseline" in whole.message


def load(tmp_path: Path, text: str | bytes, **known: Any) -> None:
    path = tmp_path / "gates.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    load_gates([path], **known)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RATE, "neither warn nor fail is given"),
        (RATE + "warn = 0.2\nfail = 0.1", "is only reached after"),
        (RATE + "fail = 20", r"fail = 20, and limits on not_ok_rate are from 0 to below 1; did you mean 0\.2\?"),
        (RATE + "fail = -0.05", r"fail = -0.05, and limits on not_ok_rate are .*; did you mean 0\.05\?"),
        (RATE + "fail = 0.1\ngroup = { n = 0x" + "f" * 5000 + " }", "group is a table of columns and values"),
        (RATE + "fail = 0.1\ngroup." + ".".join("a" * 30_000) + " = 1", "a line has more than 100 full stops"),
        (RATE + "fail = 0.1\nby = " + "[" * 20000, "is not TOML"),
        (RATE + "fail = 0.1\n" + "#" * LARGEST_FILE, "more than the 65,536 bytes"),
        (RATE.replace("not_ok_rate", "ser"), r"unknown metric 'ser'; the metrics are .*psi_confidence"),
        (RATE.replace("gates", "gate"), "unknown field `gate`; write a"),
        (RATE + 'fail = 0.9\nby = ["sytem"]', "no column 'sytem'; the columns are system"),
        (RATE + 'fail = 0.9\nagainst = "baseline"', 'against = "baseline" compares with .* pass it with --baseline'),
        *((content, "is not TOML") for content in (b"\xff", RATE + '\nfail = "\\uD800"', b"=" * 10_000)),
    ],
    ids=range(15),
)
def test_what_cannot_be_meant(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load(tmp_path, text, columns=["system"], has_baseline=False)
    assert len(str(caught.value)) < 600 and str(caught.value).isprintable()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_bounds(tmp_path: Path, metric: str) -> None:
    text = f'[[gates]]\nmetric = "{metric}"\n'
    assert (metric in SHARES) != (metric in OF_BASELINE)
    load(tmp_path, text + f"fail = {0.5 if metric in SHARES else 95}")
    out_of_bounds = [(value, "limits on") for value in ("-1", "nan", "inf")]
    if metric in SHARES:
        out_of_bounds += [("0" if metric == "mean_confidence" else "1", "limits on"), ("95", r"did you mean 0\.95\?")]
    if metric == "mean_confidence":  # how far it may fall has any sign
        load(tmp_path, text + 'against = "baseline"\nwarn = -0.01\nfail = 0.02')
        out_of_bounds.append(('-20\nagainst = "baseline"', r"fail = 20, and .* did you mean 0\.2\?"))
    for value, message in out_of_bounds:
        with pytest.raises(UsageError, match=message):
            load(tmp_path, text + f"fail = {value}")


@pytest.mark.parametrize("page", ["README.md", "docs/audit.md"])
def test_a_rise_by_a_tenth_in_a_group_of_120_rows_fails(page: str, tmp_path: Path) -> None:
    before, after, same = (
        night(tmp_path / str(start), [one for s in "abc" for one in of_system(bad if s == "a" else 12, 120, s, start)])
        for start, bad in ((0, 12), (200, 26), (400, 12))
    )
    text = "".join(one for one in blocks(ROOT / page, "toml") if "[[gates]]" in one)
    (tmp_path / "gates.toml").write_text(text)
    options = {"baseline": before, "gates": (tmp_path / "gates.toml",), "require_gates": True}
    (failed,) = [gate for gate in audit(after, AuditOptions(**options)).gates if gate.status == "fail"]
    assert (failed.group, failed.value) == ({"system": "a"}, pytest.approx(14 / 120))
    document = audit(same, AuditOptions(**options))
    assert document.status == "pass" and not document.checked.nothing_checked


SILENT = 'metric = "not_ok_rate"\nfail = 0.1\nmin_rows = 100'


def audited(out: Path, file: Path, **more: Any) -> Document:
    return audit(out, AuditOptions(gates=(file,), **more))


@pytest.fixture(scope="module")
def outs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("outs")
    return {
        "good": night(folder / "good", of_system(0, 40, "a")),
        "errors": night(folder / "errors", of_system(0, 40, "a", 100, error="out_of_memory:omission")),
        "empty": finish(folder / "empty", {"part-0.parquet": table(of_system(0, 1, "a")).slice(0, 0)}),
        "two": night(folder / "two", of_system(0, 40, "a") + of_system(0, 40, "b")),
    }


@pytest.mark.parametrize("out", ["errors", "empty"])
def test_a_night_of_errors_or_of_nothing_fails_every_gate(outs: dict[str, Path], tmp_path: Path, out: str) -> None:
    with_figure = {metric for metric in METRICS if metric.endswith(("not_ok_rate", "error_rate"))}  # of error rows
    strict = [
        f'metric = "{metric}"\nfail = {0.0 if metric in with_figure else 0.99}{by}'
        for metric in METRICS
        for by in ("", '\nby = ["system"]')
    ]
    lenient = [f'{one}\nmissing = "pass"' for one in strict]
    found = audited(outs[out], gates_file(tmp_path, *strict, *lenient), baseline=outs["good"]).gates
    half = len(found) // 2
    assert {gate.metric for gate in found} == set(METRICS)
    for gate, pardoned in zip(found[:half], found[half:], strict=True):
        if gate.metric == "rows":  # which has a figure
            assert (gate.value, gate.status) == ((1.0, "fail") if out == "empty" else (0.0, "pass"))
            continue
        has_figure = out == "errors" and gate.metric in with_figure
        assert (gate.status, pardoned.status) == ("fail", "fail" if has_figure else "pass"), gate
        assert has_figure or (gate.value is None and gate.reason)
        assert has_figure or gate.message.endswith('; missing = "pass" accepts that')


def test_a_group_that_is_new_is_silent_and_one_that_went_fails(outs: dict[str, Path], tmp_path: Path) -> None:
    file = gates_file(tmp_path, 'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.1\nby = ["system"]')
    for out, baseline, status, reason in (
        ("two", "good", "silent", "needs rows in the baseline, and this group is new"),
        ("good", "two", "fail", "there are no rows, 40 in the baseline"),
    ):
        kept, other = audited(outs[out], file, baseline=outs[baseline]).gates
        assert (kept.status, other.status, other.reason) == ("pass", status, reason)


def test_min_rows_silences_on_purpose_and_nothing_checked_is_no_pass(outs: dict[str, Path], tmp_path: Path) -> None:
    file = gates_file(tmp_path, SILENT)
    for out in ("good", "errors"):
        document = audited(outs[out], file)
        assert (document.gates[0].status, document.status) == ("silent", "pass")
        assert document.checked == Checked(gates=1, silent=1, nothing_checked=True, required=False)
    assert audited(outs["good"], file, require_gates=True).status == "fail"
    empty = audited(outs["empty"], file)  # too few rows are 1 to 99
    assert (empty.gates[0].status, empty.gates[0].reason) == ("fail", "there are no rows")
    file = gates_file(tmp_path, SILENT, 'metric = "error_rate"\nfail = 0')
    document = audited(outs["good"], file, require_gates=True)
    assert document.status == "pass"
    assert document.checked == Checked(gates=2, silent=1, nothing_checked=False, required=True)


def test_a_group_that_is_gone_is_missing_however_many_rows_a_gate_asks_for(
    outs: dict[str, Path], tmp_path: Path
) -> None:
    by = 'by = ["system"]\nmin_rows = 100'
    file = gates_file(
        tmp_path,
        f'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.1\n{by}',
        f'metric = "added_not_ok_rate"\nfail = 0.1\n{by}',
        f'metric = "not_ok_rate"\nfail = 0.1\nmissing = "pass"\n{by}',
    )
    document = audited(outs["good"], file, baseline=outs["two"], require_gates=True)
    found = [(gate.group["system"], gate.status) for gate in document.gates]
    assert found == [("a", "silent"), ("b", "fail"), ("a", "silent"), ("b", "fail"), ("a", "silent"), ("b", "pass")]
    assert document.gates[1].message.startswith(
        "system=b: not_ok_rate is unavailable (there are no rows, 40 in the baseline)"
    )


def test_the_command_says_so_everywhere(outs: dict[str, Path], tmp_path: Path) -> None:
    file, page, xml = gates_file(tmp_path, SILENT), tmp_path / "report.html", tmp_path / "junit.xml"

    def last_case() -> tuple[Any, ...]:
        suite = ElementTree.parse(xml).getroot()[0]
        return suite.get("failures"), suite[-1].get("name"), suite[-1][0].tag

    for options, title, why in (
        (("--gates", file), "Nothing checked", "Every gate was silent, so nothing could fail. "),
        ((), "No gates set", ""),
    ):
        shown = command("audit", outs["good"], *options, "--report", page, "--junit", xml).stdout
        assert shown.startswith(f"{title}: {outs['good']}\n\n{why}0% of 40 rows")
        assert "Passed" not in page.read_text()
        assert last_case() == ("0", "nothing checked", "skipped")
        document = decode(command("audit", outs["good"], *options, "--json").stdout.encode(), Document, "--json")
        assert document.checked.nothing_checked is True
        refused = command("audit", outs["good"], *options, "--require-gates", "--junit", xml, code=1)
        assert "scorer: nothing was checked, and --require-gates is set" in refused.stderr
        assert last_case() == ("1", "nothing checked", "failure")
    assert "1 of 1 gates failed" in command(
        "audit", outs["empty"], "--gates", gates_file(tmp_path, 'metric = "error_rate"\nfail = 0'), code=1
    ).stderr  # fmt: skip


def init(folder: Path, rows: list[Row]) -> tuple[Path, Path, Path]:
    """A run of rows, and the two files of gates that are written from it."""
    out, values, changes = night(folder / "before", rows), folder / "gates.toml", folder / "changes.toml"
    command("gates", "init", out, "--gates", values, "--changes", changes)
    return out, values, changes


def gates_of(folder: Path, rows: list[Row], baseline: Path, gates: Path) -> list[Gate]:
    return audit(night(folder, rows), AuditOptions(baseline=baseline, gates=(gates,))).gates


def test_the_run_that_gates_were_written_from_passes_them_and_a_group_that_gets_worse_fails(tmp_path: Path) -> None:
    before = of_system(10, 100, "a") + of_system(20, 200, "b\n]") + of_system(2, 10, "c")
    out, values, changes = init(tmp_path, before)
    document = audit(out, AuditOptions(gates=(values,)))
    on_values = [gate for gate in document.gates if gate.against is None]
    assert {gate.metric: gate.status for gate in on_values} == dict.fromkeys(
        ("error_rate", "empty_rate", "not_ok_rate"), "pass"
    )
    assert {gate.status for gate in document.gates if gate.against == "history"} == {"silent"}
    for rule in load_gates([values]):
        if rule.against == "history":
            assert (rule.nights, rule.fail_p) == (7, 0.003 if rule.by else 0.01)
            continue
        assert document.groups[0].rates[rule.metric].high < rule.warn < rule.fail
    after = of_system(10, 100, "a", 500) + of_system(80, 200, "b\n]", 500) + of_system(2, 10, "c", 500)
    found = gates_of(tmp_path / "after", after, out, changes)
    by_system = [gate.status for gate in found if gate.group and gate.against == "baseline"]
    assert by_system == ["pass", "fail", "silent"]
    assert "1 of 3 groups have fewer than 50 rows" in changes.read_text()


def test_eight_new_rows_all_wrong_fail_in_their_group_and_four_are_silent(tmp_path: Path) -> None:
    before = of_system(4, 60, "a") + of_system(4, 60, "b")
    out, _, changes = init(tmp_path, before)
    for new, status in ((8, "fail"), (4, "silent")):
        found = gates_of(tmp_path / str(new), before[: 120 - new] + of_system(new, new, "b", 900), out, changes)
        of_b = [gate for gate in found if gate.group == {"system": "b"} and gate.metric != "rows"]
        limits = [gate for gate in of_b if gate.fail == 0.5]
        assert [(gate.metric, gate.status) for gate in limits] == [("added_not_ok_rate", status)]


def test_twenty_groups_fail_together_in_one_run_of_a_hundred(tmp_path: Path) -> None:
    """20 groups of 120 rows of which 10 % are bad: 12.5 points if that were the true rate, which is not known."""
    _, _, changes = init(tmp_path, [one for i in range(20) for one in of_system(12, 120, f"s{i}")])
    by_group = [rule for rule in load_gates([changes]) if rule.by and rule.metric == "not_ok_rate"]
    assert [rule.fail for rule in by_group] == [0.135]
    assert exceeds(120, 0.125, 0.1, 0.1) * 20 < 0.01 < exceeds(120, 0.12, 0.1, 0.1) * 20
    (said,) = re.findall(
        r"any of 20 groups warns or fails in ([\d.]+)% of runs, and fails in ([\d.]+)%", changes.read_text()
    )
    assert 0.5 < float(said[1]) <= 1 < float(said[0]) <= 5


def test_all_gates_together_warn_in_one_quiet_run_of_twenty(tmp_path: Path) -> None:
    """What the comments say, added up."""
    rows = [one for bad, system in ((2, "a"), (4, "b"), (9, "c")) for one in of_system(bad, 70, system)]
    _, values, changes = init(tmp_path, rows)
    said = [
        float(one)
        for path in (values, changes)
        for one in re.findall(r"warns or fails in <?([\d.]+)%", path.read_text())
    ]
    assert len(said) == 3 and 2.5 < sum(said) <= 5
    rules = load_gates([values, changes])
    assert all(rule.warn <= rule.fail for rule in rules if rule.warn is not None)
    by_rows = [(rule.grouping, rule.warn, rule.fail, rule.min_rows) for rule in rules if rule.metric == "rows"]
    assert by_rows == [((), 0.2, 0.5, 0), (("system",), 0.2, 0.5, 50)]


def test_the_posterior_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats")
    places = (np.arange(POINTS) + 0.5) / POINTS
    for count, n in ((0.5, 10), (12, 120), (7.3, 44.2), (30, 900)):
        right = stats.beta.ppf(places, count + 0.5, n - count + 0.5)
        assert posterior(count, n) == pytest.approx(right, abs=5e-4)


def test_the_table_of_the_page_is_what_the_gates_find() -> None:
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8").partition("### Which thresholds")[2]
    lines = re.findall(r"^\| ([\d,]+) \| (.*) \|$", page, re.MULTILINE)
    assert len(lines) == 4
    for rows, cells in lines:
        for limit, cell in zip((0.02, 0.05, 0.08, 0.1), cells.split(" | "), strict=True):
            n = int(rows.replace(",", ""))
            finds, chance = detectable(n, limit, 0.1, compares=True), exceeds(n, limit, 0.1, 0.1)
            assert finds is not None
            assert cell == f"+{100 * finds:.1f} ({f'{100 * chance:.1f}' if chance >= 0.001 else '< 0.1'} %)"


@pytest.mark.parametrize("n", [40, EXACT + 1])
def test_chances_are_those_of_simulated_runs(n: int) -> None:
    random = np.random.default_rng(3)
    now, before = random.binomial(n, 0.15, 200_000) / n, random.binomial(n, 0.1, 200_000) / n
    assert exceeds(n, 0.06, 0.15, 0.1) == pytest.approx(np.mean(now - before > 0.06 + 1e-12), abs=0.01)
    assert exceeds(n, 0.16, 0.15) == pytest.approx(np.mean(now > 0.16 + 1e-12), abs=0.015)
    assert detectable(n, 0.99, 0.5, compares=True) is None
