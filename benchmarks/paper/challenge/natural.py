"""The sentence pairs of :mod:`.sentence_pairs` judged by a bundle: a natural table next to the generated set.

The premise is the only fact of a row and the hypothesis is its text, so that the hallucination check is the answer.
Of paraphrases both directions must pass, and the smaller probability counts. Intervals are over premises, because the
pairs of one premise are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scorer.errors import ColumnError, InputError
from scorer.evaluation.calibration import ranking
from scorer.evaluation.label_figures import RESAMPLES, Floats, Indices, drawn_interval, ratio
from scorer.scoring.output_columns import fine_codes, numbers
from scorer.scoring.scorer import Scorer
from scorer.stats.design_effect import share_rate
from scorer.stats.intervals import Rate
from scorer.storage.finished_output import guarded, open_parquet

from .sentence_pairs import SETS, SentencePair, tests

WINDOW = 512
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NaturalSet:
    """``file``, ``kind``: which pairs. ``both``: whether a premise must follow from its hypothesis too. ``part``: of
    the published file that is judged."""

    name: str
    file: str
    about: str
    part: str
    kind: str | None = None
    both: bool = False


_HASHED = "a quarter, by a hash of the text"
NATURAL = (
    NaturalSet(
        "paraphrases", "paws_wiki_dev_test", "words exchanged; both directions must pass", "the test split", None, True
    ),
    NaturalSet("exchanged arguments", "nli_syntactic_augmentation", "subject and object exchanged", _HASHED, "inv"),
    NaturalSet("passives", "nli_syntactic_augmentation", "right and wrong passives", _HASHED, "pass"),
    NaturalSet("directed relations", "relations_directed", "a relation stated in both directions", _HASHED),
    NaturalSet("pronouns", "gap_coreference", "each of two names in the place of a pronoun", "the test split"),
)


@dataclass(frozen=True)
class Figure:
    """A value from 0 to 1 and its 95 % interval over premises; ``None`` where undefined."""

    value: float | None
    interval: list[float] | None


@dataclass(frozen=True)
class NaturalResult:
    """One set. ``passed``: of the pairs that are entailed; ``flagged``: of those that are not. ``auc``: of
    P(entailment). ``right_higher``, ``both_pass``: of two pairs with one premise, of which one is entailed, how often
    it has the higher probability, and how often both pass; ``None`` where there are no such pairs. ``errors``: pairs
    without a label; they count as flagged."""

    name: str
    about: str
    file: str
    part: str
    pairs: int
    errors: int
    passed: Rate
    flagged: Rate
    balanced_accuracy: Figure
    auc: Figure
    right_higher: Rate | None
    both_pass: Rate | None


@dataclass(frozen=True)
class Judged:
    """Pairs with their answers. ``truth``: whether each is entailed; ``passes``: what the metric says; ``score``:
    P(entailment), NaN for an error; ``premises``: from 0 without gaps. *Shape:* (pairs,) each."""

    truth: Bools
    passes: Bools
    score: Floats
    premises: Indices


def judge_natural(
    folder: Path, scorer: Scorer, say: Callable[[str], None] = lambda line: None
) -> tuple[NaturalResult, ...]:
    """The sets whose files are in a folder.

    Args:
        scorer: opened to check for hallucinations alone.
        say: told of each set before it is judged.

    Raises:
        InputError: the folder has none of the files, or one cannot be read. ColumnError: a column is missing.
    """
    read = {name: _read(folder / f"{name}.parquet", name) for name in SETS if (folder / f"{name}.parquet").is_file()}
    if not read:
        raise InputError(f"{folder} has none of the files {', '.join(f'{name}.parquet' for name in SETS)}")
    found = []
    for one in NATURAL:
        pairs = [pair for pair in read.get(one.file, ()) if one.kind is None or pair.kind == one.kind]
        if pairs:
            say(f"{one.name}: {len(pairs):,} sentence pairs")
            judged = _judge(pairs, scorer)
            found.append(measure(one, _joined(judged) if one.both else judged))
    return tuple(found)


def measure(one: NaturalSet, judged: Judged, resamples: int = RESAMPLES) -> NaturalResult:
    """The figures of one set."""
    truth, passes, premises = judged.truth, judged.passes, judged.premises
    counts = [np.bincount(premises, mask) for mask in (truth, truth & passes, ~truth, ~truth & ~passes)]

    def balanced(weights: Indices) -> Floats:
        entailed, passed, others, flagged = (weights @ count for count in counts)
        return (ratio(passed, entailed) + ratio(flagged, others)) / 2

    accuracy = float(balanced(np.ones((1, len(counts[0])), np.int64))[0])
    order = ranking(judged.score, ~truth, premises, resamples)
    contrasts, higher, both = _contrasts(judged)
    return NaturalResult(
        name=one.name,
        about=one.about,
        file=one.file,
        part=one.part,
        pairs=len(truth),
        errors=int(np.isnan(judged.score).sum()),
        passed=share_rate(passes[truth], premises[truth]),
        flagged=share_rate(~passes[~truth], premises[~truth]),
        balanced_accuracy=Figure(None, None)
        if np.isnan(accuracy)
        else Figure(accuracy, drawn_interval(balanced, len(counts[0]), resamples)),
        auc=Figure(order["roc_auc"], order.get("interval")),
        right_higher=share_rate(higher, contrasts) if len(contrasts) else None,
        both_pass=share_rate(both, contrasts) if len(contrasts) else None,
    )


def _contrasts(judged: Judged) -> tuple[Indices, Bools, Bools]:
    """Of each premise with one entailed pair and one other: the premise, whether the entailed one has the higher score,
    and whether both pass. *Shape:* (contrasts,) each."""
    count = int(judged.premises.max(initial=-1)) + 1
    ones = np.bincount(judged.premises, judged.truth, count)
    usable = (np.bincount(judged.premises, minlength=count) == 2) & (ones == 1)
    scores = [np.full(count, np.nan) for _ in range(2)]
    passes = [np.zeros(count, bool) for _ in range(2)]
    for side in (False, True):
        rows = np.flatnonzero(judged.truth == side)
        scores[side][judged.premises[rows]] = judged.score[rows]
        passes[side][judged.premises[rows]] = judged.passes[rows]
    usable &= ~np.isnan(scores[0] + scores[1])
    return np.flatnonzero(usable), (scores[1] > scores[0])[usable], (passes[0] & passes[1])[usable]


def _joined(judged: Judged) -> Judged:
    """Both directions of a pair, which follow one another, as one: both must pass."""
    return Judged(
        judged.truth[::2],
        judged.passes[::2] & judged.passes[1::2],
        np.minimum(judged.score[::2], judged.score[1::2]),  # NaN if one of them is
        judged.premises[::2],
    )


def _judge(pairs: list[SentencePair], scorer: Scorer) -> Judged:
    passes, scores = [], []
    tables = (_table(pairs[start : start + WINDOW]) for start in range(0, len(pairs), WINDOW))
    for table in scorer.score_batches(tables):
        fine = fine_codes(table["fine"].combine_chunks(), "fine")
        passes.append(fine == 0)
        scores.append(numbers(table["text_entailment"].combine_chunks(), "text_entailment"))
    codes = {premise: number for number, premise in enumerate(dict.fromkeys(pair.premise for pair in pairs))}
    premises = np.array([codes[pair.premise] for pair in pairs], np.int64)
    truth = np.array([pair.label == "entailment" for pair in pairs])
    return Judged(truth, np.concatenate(passes), np.concatenate(scores), premises)


def _table(pairs: list[SentencePair]) -> pa.Table:
    facts = pa.array([[pair.premise] for pair in pairs], pa.list_(pa.string()))
    return pa.table({"facts": facts, "text": [pair.hypothesis for pair in pairs]})


def _read(path: Path, name: str) -> list[SentencePair]:
    columns = SETS[name][1]
    with open_parquet(path) as file:
        missing = [column for column in columns if column not in file.schema_arrow.names]
        if missing:
            raise ColumnError(f"{path} has no column {missing[0]!r}; it needs {', '.join(columns)}")
        rows = guarded(path, file.read, columns=list(columns)).to_pylist()
    try:
        return tests(name, rows)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"{path} is not in the form of the published set: {type(error).__name__} {error}") from error
