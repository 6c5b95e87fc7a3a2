"""Templates that a sample of rows proposes: words of the texts, compared by how many rows they make ``OK``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..metric import Reading, plain
from ..metric.fact_templates import Templates, split_camel_case
from ..metric.slots import unquoted
from .mining import SUBJECT, is_number, put_slots, side_by_side, split, stands_in, words_of_one, words_of_several
from .trial import SampledRow, Trial

Content = dict[str, Any]
"""A template file, parsed."""
SENTENCES = "$sentences"
GOOD, OFTEN, SELDOM = 0.8, 0.6, 0.05
FEW_ROWS = 60
"""Rows that wordings are compared on."""
WORDINGS = 3
"""Wordings of the texts that are compared for one thing."""
LEAST_GAIN = 2
"""Facts more that must pass, or rows more that must be ``OK``, to propose a template: one of sixty is chance."""
OPENINGS = ("", "The result was ", "It was ")
_CONDITIONS: dict[str, Callable[[int, int], bool]] = {">": operator.gt, "<": operator.lt, "=": operator.eq}


def share(rows: Sequence[Any], holds: Callable[[Any], bool]) -> float:
    """The share of items for which something holds; 0 of none."""
    return sum(map(holds, rows)) / len(rows) if rows else 0.0


def pass_shares(rows: Sequence[SampledRow], templates: Templates) -> dict[str, float]:
    """The share of the facts of each predicate that pass."""
    results: dict[str, list[bool]] = {}
    for row in rows:
        for triple, passed in zip(row.facts, row.passed, strict=True):
            results.setdefault(templates.canonical(triple.predicate), []).append(passed)
    return {predicate: sum(passed) / len(passed) for predicate, passed in results.items()}


class Proposer:
    """Builds a template file step by step; each step is kept only if it makes more rows ``OK``, or more facts pass.

    Args:
        trial: the sample and the model.
        content: the template file to begin with.
        reading: the reading under which templates are compared.
    """

    def __init__(self, trial: Trial, content: Content, reading: Reading) -> None:
        self.content: Content = dict(content)
        self.notes: list[str] = []
        self._trial, self._reading = trial.limited(FEW_ROWS), reading
        self._rows = self._judge(self.content)
        templates = Templates.from_dict(self.content)
        self._passes = pass_shares(self._rows, templates)
        self._texts = [plain.read_text(row.text) if reading == "plain" else row.text for row in self._rows]
        self._sentences = [
            [put_slots(sentence, row.values | _subject_of(row)) for sentence in split(text)]
            for row, text in zip(self._rows, self._texts, strict=True)
        ]
        self._one_subject = all(SUBJECT in _subject_of(row) for row in self._rows if row.facts)
        self._worded = {name for name in self.content if not name.startswith("$")} | {
            predicate for template in templates.joint for predicate in template.predicates
        }

    def propose(self) -> None:
        """Propose sentences for numbers that texts say together, templates, and sentences for predicates that fail."""
        scores = self._scores()
        of_scores = {predicate for core in scores for predicate in core}
        for predicate in self._passes:
            if predicate not in self._worded | of_scores and self._passes[predicate] < 1:
                self._propose_template(predicate)
        for core in scores:
            self._propose_sentence(core, [*self._skeletons(core), *self._mined(core)], self._by_conditions(core))
        self._update()
        for core in self._pairs():
            self._propose_sentence(core, self._mined(core), None)
        self._update()
        in_sentences = {p for template in Templates.from_dict(self.content).joint for p in template.predicates}
        self._propose_by_rows(
            [p for p in self._passes if p not in self.content and p not in self._worded | in_sentences]
        )

    def _judge(self, content: Content) -> list[SampledRow]:
        return self._trial.judge(Templates.from_dict(content), self._reading)

    def _update(self) -> None:
        self._passes = pass_shares(self._judge(self.content), Templates.from_dict(self.content))

    # --- one predicate ---

    def _propose_template(self, predicate: str) -> None:
        best, passed = self._best_words(predicate)
        facts = sum(triple.predicate == predicate for row in self._rows for triple in row.facts)
        if (passed - self._passes[predicate]) * facts >= LEAST_GAIN:
            self._keep(predicate, best, f"passes in {passed:.0%}, without a template {self._passes[predicate]:.0%}")

    def _propose_by_rows(self, predicates: Sequence[str]) -> None:
        """Words of several predicates, kept together if more rows are ``OK`` with them: a text is supported better by
        facts in words like its own, also where each of them passes hardly more often."""
        words = {predicate: self._best_words(predicate) for predicate in predicates}
        better = {predicate: best for predicate, (best, passed) in words.items() if passed > self._passes[predicate]}
        before = sum(row.is_ok for row in self._rows_now())
        gain = sum(row.is_ok for row in self._judge({**self.content, **better})) - before
        if better and gain >= LEAST_GAIN:
            for predicate, best in better.items():
                self._keep(predicate, best, f"and the other words: {gain} rows more are OK of {len(self._rows)}")

    def _keep(self, predicate: str, words: str, reason: str) -> None:
        self.content[predicate] = words
        self.notes.append(f"{predicate}: {words!r} {reason}")

    def _best_words(self, predicate: str) -> tuple[str, float]:
        """The words of one predicate that pass most often, and the share."""
        name = split_camel_case(predicate)
        sentences = (sentence for of_row in self._sentences for sentence in of_row)
        mined = words_of_one(sentences, predicate, WORDINGS, one_subject=self._one_subject)
        subjects = (" of <subject>", "") if self._one_subject else (" of <subject>",)
        plain_words = [f"The {name}{of} {verb} <object>." for of in subjects for verb in ("was", "is")]
        shares = {words: self._pass_share(predicate, words) for words in dict.fromkeys([*mined, *plain_words])}
        best = max(shares, key=lambda words: shares[words])
        return best, shares[best]

    def _pass_share(self, predicate: str, words: str) -> float:
        templates = Templates.from_dict({predicate: words})
        pairs = [
            (row.read, self._as_read(templates.fill(triple).text))
            for row in self._rows
            for triple in row.facts
            if triple.predicate == predicate
        ]
        return share(self._trial.ask(pairs), bool)

    def _as_read(self, text: str) -> str:
        return plain.notation(text) if self._reading == "plain" else text

    # --- several predicates ---

    def _scores(self) -> list[tuple[str, ...]]:
        """Predicates that texts say as one thing: two numbers side by side, and words that fail in their sentence."""
        predicates = list(self._passes)
        cores: list[tuple[str, ...]] = []
        for position, first in enumerate(predicates):
            for second in predicates[position + 1 :]:
                pairs = [(row.values.get(first, ""), row.values.get(second, "")) for row in self._rows]
                number_pairs = [
                    (a, b, text)
                    for (a, b), text in zip(pairs, self._texts, strict=True)
                    if is_number(a) and is_number(b)
                ]
                forward = share(number_pairs, lambda row: side_by_side(*row) is not None)
                backward = share(number_pairs, lambda row: side_by_side(row[1], row[0], row[2]) is not None)
                if (
                    len(number_pairs) * 2 < len(self._rows)
                    or max(forward, backward) < 0.4
                    or {first, second} & set(sum(cores, ()))
                ):
                    continue
                numbers = (first, second) if forward >= backward else (second, first)
                cores.append((*numbers, *self._words_around(numbers)))
        return [core for core in cores if not set(core) <= self._worded or min(self._passes[p] for p in core) < GOOD]

    def _words_around(self, numbers: tuple[str, ...]) -> list[str]:
        """Predicates of words that most rows have in the sentence of two numbers, and that fail alone or name a
        number, as ``home`` does ``home_goals``."""
        words = [
            predicate
            for predicate in self._passes
            if predicate not in numbers and not any(is_number(row.values.get(predicate, "0")) for row in self._rows)
        ]
        return [
            word
            for word in words
            if (self._passes[word] < GOOD or any(_names(word, number) for number in numbers))
            and self._together([word, *numbers]) > OFTEN
        ]

    def _together(self, predicates: Sequence[str]) -> float:
        """The share of rows with a sentence that has all of some predicates."""
        return share(self._sentences, lambda of_row: any(all(f"<{p}>" in s for p in predicates) for s in of_row))

    def _pairs(self) -> list[tuple[str, ...]]:
        """Failing predicates without words of their own, each with the predicate that shares most sentences."""
        with_value = {predicate: self._together([predicate]) for predicate in self._passes}
        paired = {p for template in Templates.from_dict(self.content).joint for p in template.predicates}
        pairs: list[tuple[str, ...]] = []
        for predicate, passed in sorted(self._passes.items(), key=lambda item: item[1]):
            partners = [partner for partner in self._passes if partner != predicate and partner not in paired]
            if passed >= GOOD or with_value[predicate] < OFTEN or predicate in paired or not partners:
                continue
            partner = max(partners, key=lambda candidate: self._together([predicate, candidate]))
            if self._together([predicate, partner]) > OFTEN:
                pairs.append((predicate, partner))
                paired |= {predicate, partner}
        return pairs

    def _skeletons(self, core: tuple[str, ...]) -> list[str]:
        """Values alone: each name next to its number."""
        first, second, *words = core
        (_, *with_first), (_, *with_second) = self._sides(core)
        further_words = [word for word in words if word not in (*with_first, *with_second)]
        parts = [
            *(f"<{p}>" for p in with_first),
            f"<{first}>-<{second}>",
            *(f"<{p}>" for p in with_second),
            *(f"(<{p}>)" for p in further_words),
        ]
        return [f"{opening}{' '.join(parts)}." for opening in OPENINGS]

    def _sides(self, core: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Each of two numbers with the words that its name begins with, such as home goals with home."""
        first, second, *words = core
        with_first = [word for word in words if _names(word, first)]
        return [first, *with_first], [
            second,
            *(word for word in words if word not in with_first and _names(word, second)),
        ]

    def _mined(self, core: tuple[str, ...], rows: Sequence[int] | None = None) -> list[str]:
        numbers = range(len(self._sentences)) if rows is None else rows
        return words_of_several(
            (sentence for number in numbers for sentence in self._sentences[number]), core, WORDINGS
        )

    def _by_conditions(self, core: tuple[str, ...]) -> list[dict[str, str]] | None:
        """A sentence with a wording for each result of comparing two numbers, if the texts have words for all."""
        first, second = core[:2]
        values = [(row.values.get(first, ""), row.values.get(second, "")) for row in self._rows]
        wordings: list[dict[str, str]] = []
        of_first: list[str] = []
        for sign, compare in _CONDITIONS.items():
            rows = [n for n, (a, b) in enumerate(values) if is_number(a) and is_number(b) and compare(int(a), int(b))]
            when = f"<{first}> {sign} <{second}>"
            candidates = self._mined(core, rows)
            if sign == "<":  # the words that say least: "beat" is true in both directions, "won at home" is not
                candidates.append(_mirrored(min(of_first, key=len), *self._sides(core)))
            if not candidates:
                return None
            of_first = of_first or candidates
            items = [[{"when": when, "say": words}] for words in candidates]
            results = [self._ok_of(self._with(core, item), rows) for item in items]
            best = max(range(len(items)), key=lambda number: (results[number], number))
            wordings += items[best]
        return wordings

    def _with(self, core: tuple[str, ...], item: Any) -> Content:
        earlier = [
            sentence
            for sentence in self.content.get(SENTENCES, [])
            if not set(core) & set(Templates.from_dict({SENTENCES: [sentence]}).joint[0].predicates)
        ]
        return {**self.content, SENTENCES: [*earlier, item]}

    def _ok_of(self, content: Content, rows: Sequence[int]) -> float:
        judged = self._judge(content)
        return share(rows, lambda number: judged[number].is_ok)

    def _propose_sentence(self, core: tuple[str, ...], wordings: Sequence[str], item: Any) -> None:
        """Keep the wording that makes most rows ``OK``, less the texts that it passes with a value of another row."""
        items: list[Any] = [*dict.fromkeys(wordings), *([item] if item is not None else [])]
        if not items:
            return
        before = share(self._rows_now(), lambda row: row.is_ok)
        results = []
        for wording in items:
            judged = self._judge(self._with(core, wording))
            ok, said_by = share(judged, lambda row: row.is_ok), self._said(judged, core)
            results.append((ok, said_by, self._exchanged(core, wording), wording))
        best = max(results, key=lambda result: (result[0] - result[2], result[1]))
        together = ", ".join(core)
        self.notes.append(
            f"{together} stand together: as one fact, of these wordings the first agrees best with the texts"
        )
        self.notes += [
            f"  {_shown(wording)}: rows OK {ok:.0%}, said by {said_by:.0%}, with a value of another row {exchanged:.0%}"
            for ok, said_by, exchanged, wording in sorted(results, key=lambda result: result[2] - result[0])[:WORDINGS]
        ]
        passing_alone = share([self._passes[predicate] for predicate in core], lambda passed: passed >= GOOD)
        if best[0] > before or (
            best[0] >= before and passing_alone < 1 and best[1] > min(self._passes[p] for p in core)
        ):
            self.content = self._with(core, best[3])

    def _rows_now(self) -> list[SampledRow]:
        return self._judge(self.content)

    def _said(self, rows: Sequence[SampledRow], core: Sequence[str]) -> float:
        results = [p for row in rows for t, p in zip(row.facts, row.passed, strict=True) if t.predicate in core]
        return share(results, bool)

    def _exchanged(self, core: tuple[str, ...], item: Any) -> float:
        """The share of texts that entail a sentence with a value of another row in place of one of its own."""
        template = Templates.from_dict({SENTENCES: [item]}).joint[0]
        rows = [(row, _raw_values(row)) for row in self._rows]
        rows = [(row, values) for row, values in rows if all(predicate in values for predicate in core)]
        pairs: list[tuple[str, str]] = []
        for number, (row, values) in enumerate(rows):
            predicate = core[number % len(core)]
            later = (rows[(number + step) % len(rows)][1][predicate] for step in range(1, len(rows)))
            foreign = next((value for value in later if value not in values.values()), None)
            words = None if foreign is None else template.fill({**values, predicate: foreign})
            if words is not None:
                pairs.append((row.read, self._as_read(words)))
        return share(self._trial.ask(pairs), bool)


def _names(word: str, number: str) -> bool:
    """Whether the name of a number begins with that of a word, as ``home_goals`` with ``home`` or ``home_team``."""
    return number.lower().startswith(word.lower().split("_")[0])


def _mirrored(sentence: str, first: Sequence[str], second: Sequence[str]) -> str:
    """A sentence with the slots of two sides exchanged, or as it is if one side has more of them."""
    opposite = dict(zip([*first, *second], [*second, *first], strict=False)) if len(first) == len(second) else {}
    parts = sentence.replace("<", ">").split(">")
    return "".join(f"<{opposite.get(part, part)}>" if position % 2 else part for position, part in enumerate(parts))


def _subject_of(row: SampledRow) -> dict[str, str]:
    subjects = {triple.subject.replace("_", " ") for triple in row.facts}
    return {SUBJECT: subjects.pop()} if len(subjects) == 1 else {}


def _raw_values(row: SampledRow) -> dict[str, str]:
    return {SUBJECT: row.facts[0].subject, **{triple.predicate: unquoted(triple.object) for triple in row.facts}}


def _shown(item: Any) -> str:
    if isinstance(item, str):
        return item
    return " / ".join(f"{wording['when']}: {wording['say']}" for wording in item)


def notation_counts(row: SampledRow, predicates: Mapping[str, str]) -> dict[str, tuple[bool, bool]]:
    """Whether the text has the value of each predicate as it is, and whether it has it only in another notation.

    Args:
        predicates: the value of each predicate in the table.
    """
    plain_text = plain.read_text(row.text)
    notations: dict[str, tuple[bool, bool]] = {}
    for predicate, value in predicates.items():
        as_it_is = stands_in(value, row.text)
        notations[predicate] = as_it_is, not as_it_is and stands_in(plain.notation(value), plain_text)
    return notations
