"""The sentence pairs of :mod:`.sentence_pairs` judged by a bundle: a natural table next to the generated set.

The premise is the only fact of a row and the hypothesis is its text, so that the hallucination check is the answer.
Of paraphrases both directions must pass, and the smaller probability counts. Intervals are over premises, because the
pairs of one premise are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from scorer.errors import ColumnError, InputError
from scorer.evaluation.calibration import ranking
from scorer.evaluation.label_figures import RESAMPLES, Floats, Indices
from scorer.scoring.output_columns import fine_codes, numbers
from scorer.scoring.scorer import Scorer
from scorer.stats.intervals import Rate, share_rate

from .sentence_pairs import SETS, SentencePair, held_out_pairs

WINDOW = 512
Bools = npt.NDArray[np.bool_]


class NaturalSet(NamedTuple):
    """The pairs of a kind of a file. ``both``: whether a premise must follow from its hypothesis too."""

    name: str
    file: str
    about: str
    kind: str | None = None
    both: bool = False


NATURAL = (
    NaturalSet("paraphrases", "paws_wiki_dev_test", "words exchanged; both directions must pass", None, True),
    NaturalSet("exchanged arguments", "nli_syntactic_augmentation", "subject and object exchanged", "inv"),
    NaturalSet("passives", "nli_syntactic_augmentation", "right and wrong passives", "pass"),
    NaturalSet("directed relations", "relations_directed", "a relation stated in both directions"),
    NaturalSet("pronouns", "gap_coreference", "each of two names in the place of a pronoun"),
)


@dataclass(frozen=True)
class NaturalResult:
    """One set. ``passed``: of the pairs that are entailed; ``flagged``: of those that are not. ``auc``: of
    P(entailment), with its 95 % interval over premises; ``None`` where undefined. ``errors``: pairs without a label;
    they count as flagged."""

    name: str
    about: str
    file: str
    pairs: int
    errors: int
    passed: Rate
    flagged: Rate
    auc: float | None
    interval: list[float] | None


class JudgedPairs(NamedTuple):
    """Pairs with their answers. ``truth``: whether each is entailed; ``passes``: whether the metric says so; ``score``:
    P(entailment), NaN for an error; ``premises``: from 0 without gaps. *Shape:* (pairs,) each."""

    truth: Bools
    passes: Bools
    score: Floats
    premises: Indices


def judge_natural(folder: Path, scorer: Scorer, say: Callable[[str], None]) -> Iterator[NaturalResult]:
    """The sets whose files are in a folder.

    Args:
        scorer: opened to check for hallucinations alone.
        say: called with a line before each set is judged.

    Raises:
        InputError: the folder has none of the files, or one cannot be read. ColumnError: a column is missing.
    """
    pairs = {name: _read(folder / f"{name}.parquet") for name in SETS if (folder / f"{name}.parquet").is_file()}
    if not pairs:
        raise InputError(f"{folder} has none of the files {', '.join(f'{name}.parquet' for name in SETS)}")
    for one in NATURAL:
        chosen = [pair for pair in pairs.get(one.file, ()) if one.kind in (None, pair.kind)]
        if chosen:
            say(f"{one.name}: {len(chosen):,} sentence pairs")
            yield measure(one, _judge(chosen, scorer, both=one.both))


def measure(one: NaturalSet, judged: JudgedPairs, resamples: int = RESAMPLES) -> NaturalResult:
    """The figures of one set."""
    truth, passes, score, premises = judged
    order = ranking(score, ~truth, premises, resamples)
    return NaturalResult(
        name=one.name,
        about=one.about,
        file=one.file,
        pairs=len(truth),
        errors=int(np.isnan(score).sum()),
        passed=share_rate(passes[truth], premises[truth]),
        flagged=share_rate(~passes[~truth], premises[~truth]),
        auc=order["roc_auc"],
        interval=order.get("interval"),
    )


def _judge(pairs: list[SentencePair], scorer: Scorer, *, both: bool) -> JudgedPairs:
    """The answers; with ``both``, two directions of a pair, which follow one another, as one: both must pass."""
    tables = (_table(pairs[start : start + WINDOW]) for start in range(0, len(pairs), WINDOW))
    scored = pa.concat_tables(table.select(["fine", "text_entailment"]) for table in scorer.score_batches(tables))
    passes = fine_codes(scored["fine"].combine_chunks(), "fine") == 0
    score = numbers(scored["text_entailment"].combine_chunks(), "text_entailment")
    codes = {premise: number for number, premise in enumerate(dict.fromkeys(pair.premise for pair in pairs))}
    premises = np.array([codes[pair.premise] for pair in pairs], np.int64)
    truth = np.array([pair.label == "entailment" for pair in pairs])
    if not both:
        return JudgedPairs(truth, passes, score, premises)
    least = np.minimum(score[::2], score[1::2])  # NaN if one of them is
    return JudgedPairs(truth[::2], passes[::2] & passes[1::2], least, premises[::2])


def _table(pairs: list[SentencePair]) -> pa.Table:
    facts = pa.array([[pair.premise] for pair in pairs], pa.list_(pa.string()))
    return pa.table({"facts": facts, "text": [pair.hypothesis for pair in pairs]})


def _read(path: Path) -> list[SentencePair]:
    try:
        return held_out_pairs(path.stem, pq.read_table(path).to_pylist())
    except KeyError as error:
        raise ColumnError(f"{path} has no column {error.args[0]!r}, which the published set has") from error
    except (pa.ArrowException, OSError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{path} is not in the form of the published set: {type(error).__name__} {error}") from error
