"""Code of a user, for ``mypy --strict``: what is right has the type that ``assert_type`` says, and each line that is
wrong ends with the errors that it must give. Never run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack, assert_type

import numpy as np
import numpy.typing as npt
import polars as pl

from scorer import CheckResult, ColumnNames, Scorer, ScorerError, ScorerOptions, Triple, Verdict
from scorer.integrations.ray import ScoreBatches


def opened(**options: Unpack[ScorerOptions]) -> Scorer:
    """A function of a user that passes options on."""
    return Scorer(Path("bundles/large"), **options)


with Scorer(
    "bundles/large", device="cuda", precision="fp16", templates={"food": "<subject> serves <object>."}
) as scorer:
    assert_type(scorer, Scorer)
    verdict = scorer.score([Triple("Blue Spice", "eatType", "pub")], "Blue Spice is a pub.")
    assert_type(verdict, Verdict)
    assert_type(verdict.omitted, list[int] | None)
    assert_type(verdict.checks, list[CheckResult])
    assert_type(verdict.to_dict(), dict[str, Any])
    assert_type(scorer.score_facts(["Blue Spice is a pub."], None), Verdict)
    assert_type(scorer.score_attributes({"name": "Blue Spice", "stars": 5}, "Blue Spice."), Verdict)
    assert_type(scorer.score_pairs(["A pub."], ["A bar."]), npt.NDArray[np.float32])
    rows: list[dict[str, object]] = [{"triples": [["a", "b", "c"]], "text": "a"}]
    assert_type(scorer.score_table(rows), list[dict[str, Any]])
    assert_type(scorer.score_table({"triples": ["a | b | c"], "text": ["a"]}), dict[str, list[Any]])
    frame = pl.DataFrame({"triples": ["a | b | c"], "text": ["a"]})
    assert_type(scorer.score_table(frame), pl.DataFrame)
    assert_type(scorer.score_batches([frame, frame]), Iterator[pl.DataFrame])
    assert_type(scorer.score_batches([rows]), Iterator[list[dict[str, Any]]])
    found: set[Verdict] = {verdict}
    again = Scorer(**scorer.settings.arguments())
    again = opened(columns=ColumnNames(attributes="made", keep=("id",)), optional=["food=Thai"], threads=2)

try:
    Scorer.embedded(checks="hallucination", sentences=True, overlong="truncate", reading="plain", exact=False)
    ScoreBatches("bundles/large", missing_template="error", protocol="paper", device_memory=8)
except ScorerError as error:
    assert_type(error.exit_code, int)

Scorer("bundles/large", precison="fp16")  # wrong: call-arg
Scorer("bundles/large", protocol="papr")  # wrong: arg-type
Scorer("bundles/large", device=3)  # wrong: arg-type
Scorer("bundles/large", "templates.json")  # wrong: call-arg arg-type
Scorer("bundles/large", threads="2")  # wrong: arg-type
Scorer("bundles/large", columns={"text": "output"})  # wrong: arg-type
Scorer("bundles/large", columns=ColumnNames(txt="output"))  # wrong: call-arg
Scorer()  # wrong: call-arg
Scorer.embedded(sides="both")  # wrong: call-arg
Scorer.embedded(checks="omission_only")  # wrong: arg-type
ScoreBatches("bundles/large", precision=16)  # wrong: arg-type
opened(overlong="cut")  # wrong: arg-type
scorer.score([Triple("a", "b")], "A text.")  # wrong: call-arg
scorer.score(["a | b | c"])  # wrong: call-arg
scorer.score(["a | b | c"], 3)  # wrong: arg-type
scorer.score_facts([3], "A text.")  # wrong: list-item
scorer.score_pairs([1], ["A text."])  # wrong: list-item
scorer.score_table(5)  # wrong: call-overload
scorer.score_batches(5)  # wrong: call-overload
verdict.fine = "OK"  # wrong: misc
assert verdict.lable  # wrong: attr-defined
