"""Every setting of every row scorer is in the fingerprint of a shard: another value never finds it done.

Those of the metric are in :mod:`tests.scoring.test_settings`; here are baselines.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from scorer.evaluation.baselines import judges, reference_judges
from scorer.evaluation.baselines.reference_counts import ReferenceCounts
from scorer.evaluation.baselines.rows import BaselineScoring
from scorer.evaluation.baselines.writing import signature_of
from scorer.metric.column_names import ColumnNames
from scorer.run.survey import Shard
from scorer.storage import Fingerprint, Identity, InputFile, ShardInfo

LISTS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("text", "t2", "mr", "m2")]
    + [(name, LISTS) for name in ("references", "r2", "candidates", "c2")]
)
NAMES = ColumnNames(mr="mr")


def counts(digest: str) -> ReferenceCounts:
    return ReferenceCounts(None, None, digest)  # type: ignore[arg-type]  # only its digest counts here


def bert(sha256: str, idf: str | None) -> Any:
    encoder = SimpleNamespace(bundle=SimpleNamespace(name="e", sha256=sha256, layer=1))
    return SimpleNamespace(encoder=encoder, idf=SimpleNamespace(digest=idf) if idf is not None else None)


# The last digits differ alone, which the line of a signature does not show.
ONE, TWO = "c" * 63 + "0", "c" * 63 + "1"
JUDGES: dict[Any, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    judges.SlotsJudge: ({}, [{"as_gold": True}]),
    judges.KeywordsJudge: ({}, []),
    judges.EntitiesJudge: ({}, []),
    reference_judges.OverlapJudge: (
        {"text": "text", "references": "references", "counts": counts(ONE)},
        [{"references": "r2"}, {"counts": counts(TWO)}],
    ),
    reference_judges.BertScoreJudge: (
        {"text": "text", "references": "references", "metric": bert(ONE, None)},
        [{"references": "r2"}, {"metric": bert(TWO, None)}, {"metric": bert(ONE, ONE)}, {"metric": bert(ONE, TWO)}],
    ),
}
"""For each baseline: what it is given, and every change of it but of the text, whose name is among those of columns."""


def fingerprint(scoring: Any, signature: Any) -> Fingerprint:
    info = ShardInfo(SCHEMA, 1, 1, Identity(1, None, ""))
    return Shard(InputFile("/in/a", "a"), info, scoring.find_columns(SCHEMA)).fingerprint(signature)


def of_baseline(judge: Any, names: ColumnNames = NAMES) -> Fingerprint:
    return fingerprint(BaselineScoring(judge, names), signature_of(judge))


@pytest.mark.parametrize("kind", JUDGES, ids=lambda kind: kind.name if hasattr(kind, "name") else kind.__name__)
def test_a_baseline(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_judges.overlap, "Overlap", lambda given: given)
    given, changes = JUDGES[kind]
    asked = {name for name in inspect.signature(kind).parameters if name not in ("args", "kwargs")}
    assert asked == {name for change in changes for name in change} | (asked & {"text"})
    plain = of_baseline(kind(**given))
    found = [of_baseline(kind(**{**given, **change})) for change in changes]
    found += [of_baseline(kind(**given), names) for names in (ColumnNames(text="t2", mr="mr"), ColumnNames(mr="m2"))]
    assert plain not in found and all(found.count(one) == 1 for one in found)
