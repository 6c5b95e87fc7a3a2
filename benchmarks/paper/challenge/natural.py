"""The sentence pairs of :mod:`.sentence_pairs` judged by a bundle: a natural table next to the generated set.

The premise is the only fact of a row and the hypothesis is its text, so that the hallucination check is the answer.
Intervals are over premises, because the pairs of one premise are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import InputError
from scorer.evaluation.calibration import ranking
from scorer.evaluation.label_figures import RESAMPLES
from scorer.scoring.output_columns import fine_codes, numbers
from scorer.scoring.scorer import Scorer
from scorer.stats.intervals import Rate, share_rate

from .sentence_pairs import SETS, SentencePair, held_out_pairs

WINDOW = 512


class NaturalSet(NamedTuple):
    """The pairs of a kind of a file. ``both``: both directions of a pair must pass; the smaller probability counts."""

    name: str
    file: str
    kind: str | None = None
    both: bool = False


NATURAL = (
    NaturalSet("paraphrases", "paws_wiki_dev_test", None, both=True),
    NaturalSet("exchanged arguments", "nli_syntactic_augmentation", "inv"),
    NaturalSet("passives", "nli_syntactic_augmentation", "pass"),
    NaturalSet("directed relations", "relations_directed"),
    NaturalSet("pronouns", "gap_coreference"),
)


class NaturalResult(NamedTuple):
    """One set. ``passed``: of the pairs that are entailed; ``flagged``: of those that are not. ``auc``: of
    P(entailment), with its 95 % interval over premises; ``None`` where undefined. ``errors``: pairs without a label;
    they count as flagged."""

    name: str
    pairs: int
    errors: int
    passed: Rate
    flagged: Rate
    auc: float | None
    interval: list[float] | None


def judge_natural(folder: Path, scorer: Scorer, say: Callable[[str], None]) -> Iterator[NaturalResult]:
    """The sets whose files are in a folder, judged by a scorer of hallucinations; an InputError if there are none."""
    pairs = {name: _read(folder / f"{name}.parquet") for name in SETS if (folder / f"{name}.parquet").is_file()}
    if not pairs:
        raise InputError(f"{folder} has none of the files {', '.join(f'{name}.parquet' for name in SETS)}")
    for one in NATURAL:
        chosen = [pair for pair in pairs.get(one.file, ()) if one.kind in (None, pair.kind)]
        if chosen:
            say(f"{one.name}: {len(chosen):,} sentence pairs")
            yield _judge(one, chosen, scorer)


def _judge(one: NaturalSet, pairs: list[SentencePair], scorer: Scorer) -> NaturalResult:
    tables = (_table(pairs[start : start + WINDOW]) for start in range(0, len(pairs), WINDOW))
    scored = pa.concat_tables(table.select(["fine", "text_entailment"]) for table in scorer.score_batches(tables))
    passes = fine_codes(scored["fine"].combine_chunks(), "fine") == 0
    score = numbers(scored["text_entailment"].combine_chunks(), "text_entailment")
    truth = np.array([pair.label == "entailment" for pair in pairs])
    premises = np.unique([pair.premise for pair in pairs], return_inverse=True)[1]
    if one.both:  # the two directions of a pair follow one another
        truth, passes, premises = truth[::2], passes[::2] & passes[1::2], premises[::2]
        score = np.minimum(score[::2], score[1::2])  # NaN if one of them is
    order = ranking(score, ~truth, premises, RESAMPLES)
    return NaturalResult(
        name=one.name,
        pairs=len(truth),
        errors=int(np.isnan(score).sum()),
        passed=share_rate(passes[truth], premises[truth]),
        flagged=share_rate(~passes[~truth], premises[~truth]),
        auc=order["roc_auc"],
        interval=order.get("interval"),
    )


def _table(pairs: list[SentencePair]) -> pa.Table:
    facts = pa.array([[pair.premise] for pair in pairs], pa.list_(pa.string()))
    return pa.table({"facts": facts, "text": [pair.hypothesis for pair in pairs]})


def _read(path: Path) -> list[SentencePair]:
    try:
        return held_out_pairs(path.stem, pq.read_table(path).to_pylist())
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{path} is not in the form of the published set: {type(error).__name__} {error}") from error
