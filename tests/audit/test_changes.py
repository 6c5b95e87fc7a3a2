"""A night against the one before: what is tested, what rings, and what does not; rows that share an input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document, Gate, TemplatesShown
from scorer.audit.findings import all_findings
from scorer.audit.suspect_templates import looks_wrong
from scorer.errors import UsageError
from scorer.metric.fact_templates import Templates
from tests.audit.nights import SIGNATURE, Row, command, compared, gates_file, night, of_system, row, table
from tests.scored_outputs import finish

stats = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats")


def test_rows_that_came_against_rows_that_went(tmp_path: Path) -> None:
    stayed, went, came = of_system(10, 400, None), of_system(20, 100, None, 1000), of_system(60, 120, None, 2000)
    document = compared(tmp_path, stayed + went, stayed + came)
    change = document.groups[0].change
    assert (change.kept, change.added, change.removed) == (400, 120, 100)
    moved = change.rates["not_ok_rate"]
    assert moved.difference == pytest.approx(70 / 520 - 30 / 500)
    assert (moved.test.n_before, moved.test.n_after) == (100, 120)
    # Two-sided, of Fisher's test: what is less likely than the count, and half of what is as likely.
    chances = stats.hypergeom.pmf(np.arange(81), 220, 80, 120)
    assert moved.test.p == pytest.approx(chances[chances < chances[60] * (1 - 1e-9)].sum() + chances[60] / 2)
    # Newcombe's interval of each part, weighed by its share of its night.
    up, down = (stats.binomtest(k, n).proportion_ci(method="wilson") for k, n in ((60, 120), (20, 100)))
    low = ((60 / 120 - up.low) * 120 / 520) ** 2 + ((down.high - 0.2) * 100 / 500) ** 2
    high = ((up.high - 60 / 120) * 120 / 520) ** 2 + ((0.2 - down.low) * 100 / 500) ** 2
    assert moved.low == pytest.approx(moved.difference - low**0.5)
    assert moved.high == pytest.approx(moved.difference + high**0.5)
    (changed,) = [one for one in document.findings if one.kind == "changed"]
    assert moved.significant and changed.message == "all rows: food omitted in 70 of 520, before in 30 of 500"
    assert [one.why for one in changed.rows] == ["new", "new"]


def test_a_hundred_groups_do_not_cry_wolf(tmp_path: Path) -> None:
    """Half of every group's texts is new and no group is worse; then one group is."""
    rng = np.random.default_rng(8)

    def group(name: int, start: int, rate: float, n: int) -> list[Row]:
        return of_system(int(rng.binomial(n, rate)), n, str(name), start)

    rates = rng.uniform(0.05, 0.4, 100)
    # Twenty texts of each group stay, twenty are new in each of two nights.
    stayed, old, new = ([one for g in range(100) for one in group(g, start, rates[g], 20)] for start in (0, 100, 200))
    document = compared(tmp_path, stayed + old, stayed + new)
    small = sum(test.p < 0.05 for g in document.groups for m in g.change.rates.values() if (test := m.test))
    assert small > 1  # uncorrected, there would be some in every run
    assert not [one for one in document.findings if one.kind in ("changed", "improved", "drift")]
    worse = night(tmp_path / "worse", stayed + new + group(42, 20_000, 0.95, 60))
    document = audit(worse, AuditOptions(baseline=tmp_path / "before"))
    assert [one.group for one in document.findings if one.kind == "changed"] == [{"system": "42"}]


def test_flips_are_counted_and_listed(tmp_path: Path) -> None:
    before, after = of_system(0, 50, "a"), of_system(0, 50, "a")
    after[4]["facts"], after[5]["error"] = [("food", 0.1)], "not_finite:omission"
    document = compared(tmp_path, before, after)
    changes, change = document.baseline_changes, document.groups[1].change
    assert (changes.flips.count, change.flips, changes.errors_appeared, changes.errors_gone) == (1, 1, 1, 0)
    assert [(f.file, f.row, f.before, f.after) for f in changes.flips.rows] == [("part-0.parquet", 4, "OK", "omission")]
    kinds = [(one.kind, one.severity) for one in document.findings]
    assert kinds == [("flips", "warn"), ("errors", "warn"), ("errors", "info")]
    assert change.rates["omission_rate"].test.p == stats.binomtest(0, 1).pvalue / 2  # McNemar's mid-p


def test_paired_rows_across_signatures(tmp_path: Path) -> None:
    other = SIGNATURE.replace("templates:none", "templates:feedfeedfeed")
    before = night(tmp_path / "b", of_system(30, 200, None))
    out = night(tmp_path / "a", of_system(75, 200, None), signature=other)
    with pytest.raises(UsageError, match=r"templates: none → feedfeedfeed.*--across-signatures"):
        audit(out, AuditOptions(baseline=before))
    document = audit(out, AuditOptions(baseline=before, across_signatures=True))
    test = document.groups[0].change.rates["not_ok_rate"].test
    assert (test.n_after, test.statistic, test.p) == (200, pytest.approx(45**0.5), pytest.approx(0.5**45))
    assert document.baseline.differs == ["templates: none → feedfeedfeed"]
    assert document.baseline_changes.flips.count == 45
    assert [one.kind for one in document.findings] == ["changed", "signature"]
    assert "scored differently: templates" in command("audit", out, "--baseline", before, "--across-signatures").stdout


def test_groups_that_come_and_go(tmp_path: Path) -> None:
    document = compared(tmp_path, of_system(1, 9, "old"), of_system(1, 9, "new"))
    messages = ["old has no rows in this run, 9 in the baseline", "new is new: 9 rows"]
    assert [(one.kind, one.message) for one in document.findings] == [("rows", message) for message in messages]
    assert document.groups[-1].group == {"system": "old"}


def test_two_systems_are_compared_over_the_inputs_that_both_have(tmp_path: Path) -> None:
    """Of 40 shared inputs, a alone is wrong in 12, b alone in 3, both in 5; b has 30 inputs more."""
    wrong = {"a": {*range(12), *range(15, 20)}, "b": {*range(12, 20), *range(40, 70)}}
    rows = [
        row(f"{s} {i}", [("food", 0.1 if i in wrong[s] else 0.9)], subject=f"S{i}", system=s)
        for s, count in (("a", 40), ("b", 70))
        for i in range(count)
    ]
    out = night(tmp_path / "out", rows)
    chances = stats.binom.pmf(np.arange(16), 15, 0.5)
    for compare, counts, sign in ((None, (17, 8), 1), (("b", "a"), (8, 17), -1)):
        found = audit(out, AuditOptions(compare=compare)).comparison
        one = found.rates["not_ok_rate"]
        assert (found.pairs, one.first.count, one.second.count) == (40, *counts)
        assert one.low < one.difference < one.high and one.difference == pytest.approx(sign * 9 / 40)
        assert one.p == pytest.approx(2 * chances[13:].sum() + chances[12])
    for by, message in ((("system",), "no row has system=c; there is a, b"), (("system", "text"), "of one column")):
        with pytest.raises(UsageError, match=message):
            audit(out, AuditOptions(compare=("a", "c"), by=(by,)))


def shared(seed: int, inputs: int, systems: int, hard: float, text: str = "") -> list[Row]:
    """A text of each system for each input; hard inputs are wrong in every text."""
    wrong = np.random.default_rng(seed).random(inputs) < hard
    return [
        row(f"{text}{i} {s}", [("food", 0.1 if wrong[i] else 0.9)], subject=f"S{i}", system=f"s{s}")
        for i in range(inputs)
        for s in range(systems)
    ]


def test_texts_of_one_input_that_agree_count_as_one_row(tmp_path: Path) -> None:
    everything, system = audit(night(tmp_path / "out", shared(1, 200, 5, 0.2))).groups[:2]
    assert everything.design_effects["not_ok_rate"] == pytest.approx(5, rel=0.01)
    assert system.design_effects["not_ok_rate"] == 1
    one, other = everything.rates["not_ok_rate"], system.rates["not_ok_rate"]
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=2e-3)
    # Without facts, duplicates are known.
    bare = pa.concat_tables([table(shared(1, 300, 1, 0.2)).drop_columns(["triples"])] * 3)
    document = audit(finish(tmp_path / "bare", {"part-0.parquet": bare}))
    assert document.groups[0].design_effects["not_ok_rate"] == pytest.approx(3, rel=0.01)


def test_rewritten_rows_are_compared_as_pairs(tmp_path: Path) -> None:
    """Half of the inputs are hard for every text; one in ten easy ones gets a bad text."""
    before, after = shared(3, 200, 1, 0.5), shared(3, 200, 1, 0.5, "other ")
    for one in [one for one in after if one["facts"][0][1] > 0.5][:10]:
        one["facts"] = [("food", 0.2)]
    change = compared(tmp_path, before, after).groups[0].change
    moved = change.rates["not_ok_rate"]
    assert (change.kept, change.rewritten) == (0, 200)
    assert moved.significant and moved.low > 0
    assert moved.test.p == pytest.approx(2**-10)  # mid-p of ten changes in one direction


def test_the_buckets_of_confidence_are_tenths_of_the_baseline(tmp_path: Path) -> None:
    """Ties: nine in ten of the baseline's are equal, which makes one bucket of them and one of the rest."""
    rng = np.random.default_rng(0)
    before = np.concatenate([np.full(540, 0.9), rng.uniform(0.6, 0.8, 60)]).astype(np.float32)
    after = rng.uniform(0.55, 0.95, 700).astype(np.float32)
    nights = [
        [row(f"{name}{i}", [("food", float(one))], 1.0) for i, one in enumerate(values)]
        for name, values in (("before", before), ("after", after))
    ]
    cuts = np.unique(np.quantile(before, np.arange(1, 10) / 10, method="inverted_cdf"))
    sides = [np.bincount(np.searchsorted(cuts, values), minlength=len(cuts) + 1) for values in (before, after)]
    document = compared(tmp_path, *nights)
    b, a = ((side + 0.5) / (side + 0.5).sum() for side in sides)
    assert document.groups[0].change.confidence.psi == pytest.approx(((a - b) * np.log(a / b)).sum())
    assert [one.kind for one in document.findings] == ["drift"]


@pytest.mark.parametrize(
    ("counts", "wrong"),
    [
        ((30, 30, 0, 1000), True),
        ((29, 29, 0, 1000), False),  # too few facts
        ((11, 30, 0, 1000), True),
        ((10, 30, 0, 1000), False),  # the interval begins at 0.192
        ((300, 1000, 100, 1000), True),  # odds of 0.374 at the lower end, three times 0.112
        ((300, 1000, 120, 1000), False),  # and not three times 0.137
        ((99, 100, 60, 100), True),  # no rate is three times 0.6, but odds are
        ((80, 100, 60, 100), False),
        ((500, 1000, 0, 0), False),  # there are no others
    ],
)
def test_the_rule(counts: tuple[int, int, int, int], wrong: bool) -> None:
    assert looks_wrong(*counts) is wrong


def suspects(document: Document) -> list[str]:
    found = [one.message for one in document.findings if one.kind == "template"]
    marked = [one.predicate for one in document.groups[0].predicates if one.suspect]
    assert found == [f"the template of {one!r} looks wrong" for one in marked]
    return marked


def made(food: dict[str | None, float]) -> list[Row]:
    """Twenty rows of each system, with its P(entailment) of the food."""
    others = [("area", 0.9), ("near", 0.9), ("priceRange", 0.9)]
    return [row(f"{s} {i}", [("food", food[s]), *others], system=s) for s in food for i in range(20)]


def test_a_predicate_that_fails_everywhere_is_called_out(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", made({"a": 0.1, "b": 0.1, "c": 0.1})))
    assert suspects(document) == ["food"]
    assert {"omitted: 60 of 60 (100%)", "far above the rest in 3 of 3 groups"} < {*document.findings[0].evidence}
    # A system that leaves a slot out is no bad template, unless nothing tells systems apart.
    rows = made({"a": 0.1, "b": 0.1, "c": 0.9})
    assert suspects(audit(night(tmp_path / "some", rows))) == []
    for one in rows:
        del one["system"]
    assert suspects(audit(night(tmp_path / "one", rows))) == ["food"]


def test_facts_are_shown_as_their_templates_say(tmp_path: Path) -> None:
    content = {"food": "<subject> serves <object>.", "$aliases": {"foods": "food"}}
    file = tmp_path / "templates.json"
    file.write_text(json.dumps(content))
    digest = Templates.load(file).sha256[:12]
    signature = SIGNATURE.replace("templates:none", f"templates:{digest}")
    rows = [row(f"t{i}", [("foods", 0.1), ("area", 0.9), ("near", 0.9)], subject="X") for i in range(40)]
    out = night(tmp_path / "out", rows, signature=signature, settings={"templates": str(file), "bundle": "embedded"})
    document = audit(out)
    assert document.templates == TemplatesShown(sha=digest, file=str(file))
    sentences = [fact.sentence for fact in document.worst[0].facts or []]
    assert sentences == ["X serves o0.", "The area of X is o1.", "The near of X is o2."]
    (callout,) = [one for one in document.findings if one.kind == "template"]
    assert callout.evidence[-1] == "template: <subject> serves <object>."

    file.write_text(json.dumps({**content, "area": "<subject> is in the <object>."}))
    changed = audit(out)
    assert changed.templates.file is None
    assert any("template file is not where the run found it" in note for note in changed.notes)
    assert {fact.sentence for fact in changed.worst[0].facts or []} == {None}


def texts(system: str, count: int, failing: int, version: str = "") -> list[Row]:
    return [
        row(f"{system} {i} {version}", [("food", 0.1 if i < failing else 0.9)], subject=f"S{i}", system=system)
        for i in range(count)
    ]


def test_the_sentence_names_the_group_that_got_worst_and_a_gate_does_not_repeat_it(tmp_path: Path) -> None:
    """One of three systems fails more often in new texts; the others keep theirs."""
    same = [*texts("b", 100, 10), *texts("c", 100, 12)]
    worse = compared(tmp_path, texts("a", 100, 11) + same, texts("a", 100, 60, "new") + same)
    said = "a: food omitted in 60 of 100, before in 11 of 100"
    assert worse.headline.endswith(f"{said}.")
    gate = Gate(metric="not_ok_rate", group={"system": "a"}, status="fail", value=0.49, now=0.6, before=0.11, low=None,
                high=None, warn=None, fail=0.1, fail_p=None, p=None, alert_direction="above", against="baseline",
                rows=100, min_rows=0, missing="fail", reason=None, message="system=a: not_ok_rate 60.0%")  # fmt: skip
    found = all_findings([gate], worse.groups, worse.baseline, worse.baseline_changes, [])
    (one,) = [one for one in found if one.group == {"system": "a"}]
    assert (one.kind, one.severity, one.gates, one.message) == ("changed", "fail", [gate.message], said)
    alone = audit(night(tmp_path / "out", [*texts("a", 40, 10), *texts("b", 40, 2)]))
    assert alone.answer == "b is better than a"
    assert alone.headline == "5.0% of the 40 rows of b are not OK; a 25.0%."


def test_a_bundle_that_cannot_be_trusted(tmp_path: Path) -> None:
    out = night(tmp_path / "out", texts("a", 5, 1))
    summary = json.loads((out / "_run.json").read_text())
    for recorded, severities in (({"random_weights": True}, ["fail"]), ({"forced": ["parity"]}, ["warn"]), ({}, [])):
        (out / "_run.json").write_text(json.dumps({**summary, **recorded}))
        assert [one.severity for one in audit(out).findings if one.kind == "bundle"] == severities


@pytest.mark.parametrize(("bundle", "findings"), [("embedded", 1), ("bundles/embedded-like", 0)])
def test_the_small_model_is_named_where_a_run_asked_for_it(tmp_path: Path, bundle: str, findings: int) -> None:
    document = audit(night(tmp_path / "out", texts("a", 5, 1), settings={"bundle": bundle}))
    assert len([finding for finding in document.findings if finding.kind == "bundle"]) == findings


def test_groups_that_a_spreadsheet_spelled_in_another_way_are_the_same(tmp_path: Path) -> None:
    before, after = (of_system(10, 100, "7") + of_system(20, 100, "8") for _ in range(2))
    for one in before:
        one["system"] += ".0"
    gates = gates_file(tmp_path, 'metric = "not_ok_rate"\ngroup = { system = "8.0" }\nfail = 0.1')
    document = compared(tmp_path, before, after, compare=("8.0", "7"), by=(("system",),), gates=(gates,))
    assert [(one.group["system"], one.change.kept) for one in document.groups[1:]] == [("8", 100), ("7", 100)]
    assert [(one.status, one.rows) for one in document.gates] == [("fail", 100)]
    with pytest.raises(UsageError, match=r"no row has system=9\.0; there is 7, 8"):
        compared(tmp_path / "other", before, after, compare=("9.0", "7"), by=(("system",),))
