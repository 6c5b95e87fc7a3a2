"""Pairs that differ in who has what, or in who did what to whom: the same names and values stand on both sides.

Names are real ones of the corpus and invented ones, so that none can be learned by heart. Every kind draws one true
and one false pair in the same way, and neither side on its own tells which it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial

from training.general.relations import RELATIONS, ROLES, directed, sequenced, worded
from training.general.rows import Corpus, shape
from training.general.values import Sides, counted, measured, misspelt, quantified, twins
from training.general.wording import PRONOUNS, Said, Wording, denial, fill, spoken, told

Kind = Callable[[bool, random.Random], Sides | None]
_ONSETS = ("b", "br", "c", "ch", "d", "dr", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "sh", "st",
           "t", "tr", "v", "w", "y", "z")  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_ENDS = ("", "", "n", "r", "l", "s", "th", "nd", "rt", "ck", "m")
DENIED = 0.2
"""Share of the other facts that are denied, on both sides, so that a *not* says nothing of the contested one."""
LONGEST_NAME = 30
"""Characters of a name that may take part."""


def invented(rng: random.Random) -> str:
    """A name of one or two words that no text has."""

    def word() -> str:
        count = rng.choice((1, 2, 2, 3))
        made = (rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_ENDS) for _ in range(count))
        return "".join(made).capitalize()

    name = " ".join(word() for _ in range(rng.choice((1, 1, 2))))
    return name if not any(word in pair for pair in PRONOUNS for word in name.split()) else invented(rng)


def apart(one: str, others: Sequence[str]) -> bool:
    """Whether a name is in none of the others, and none of them in it."""
    low = one.lower()
    return all(low not in other.lower() and other.lower() not in low for other in others)


class Bindings:
    """Makes the pairs."""

    def __init__(self, corpus: Corpus) -> None:
        facts = [t for row in corpus.rows.get("rel2text", []) for t in row.triples]
        named = {t.subject for t in facts} | {t.object for t in facts if t.object[:1].isupper()}
        self._names = sorted(name for name in named if len(name) < LONGEST_NAME and name.isprintable())
        self._templates = dict(sorted(corpus.templates.items()))
        self._predicates = list(self._templates)
        self._alike: dict[str, list[str]] = {}
        self._objects = {p: corpus.objects["rel2text", p] for p in self._predicates}
        for predicate, objects in self._objects.items():
            self._alike.setdefault(shape(objects[0]), []).append(predicate)
        self.kinds: dict[Kind, float] = {
            self.crossed: 0.2, self.exchanged: 1.2, self.reference: 0.25, self.detailed: 0.6,
            self.sequenced: 0.5, self.confused: 0.5,
        }  # fmt: skip
        if len(self._predicates) > 2:
            self.kinds[self.listed] = 0.55
        if any(len(predicates) > 1 for predicates in self._alike.values()):
            self.kinds[self.related] = 0.6

    def pairs(self, count: int, rng: random.Random, only: Kind | None = None) -> list[tuple[str, str, bool]]:
        """Premise, hypothesis and whether it is entailed, of every kind or of one."""
        found: list[tuple[str, str, bool]] = []
        kinds, weights = list(self.kinds), list(self.kinds.values())
        while len(found) < count:
            kind = only or rng.choices(kinds, weights)[0]
            true, false = twins(kind, rng)
            if true is not None and false is not None:
                found += [(*true, True), (*false, False)]
        return found[:count]

    def _name(self, rng: random.Random) -> str:
        return rng.choice(self._names) if self._names and rng.random() < 0.6 else invented(rng)

    def _apart(self, count: int, taken: Sequence[str], draw: Callable[[], str]) -> list[str]:
        """So many names of `draw`, apart from each other and from those taken; numbers where `draw` has too few."""
        found: list[str] = []
        tries = 0
        while len(found) < count:
            tries += 1
            name = draw() if tries < 20 else str(tries * 7)
            if apart(name, [*taken, *found]):
                found.append(name)
        return found

    def _values(self, predicate: str, count: int, taken: Sequence[str], rng: random.Random) -> list[str]:
        """Different objects of one kind: those of the predicate, names, or numbers."""
        chance, pool = rng.random(), self._objects[predicate]
        if chance < 0.5 and len(set(pool)) > count:
            return self._apart(count, taken, lambda: rng.choice(pool))
        if chance < 0.8:
            return self._apart(count, taken, lambda: self._name(rng))
        unit = rng.choice(("", "", "", " km", " %", " people", " kg"))
        return self._apart(count, taken, lambda: f"{rng.randint(2, rng.choice((30, 200, 2020)))}{unit}")

    def _wording(self, predicate: str, rng: random.Random) -> Wording:
        if rng.random() < 0.3:
            return f"The {predicate} of {{s}} is {{o}}."
        return rng.choice(self._templates[predicate])

    def _denied(self, predicate: str, rng: random.Random) -> Wording:
        """A wording that says the opposite of the fact."""
        return denial(self._wording(predicate, rng)) or f"The {predicate} of {{s}} is not {{o}}."

    def crossed(self, agree: bool, rng: random.Random) -> Sides:
        """Two or three things with values of the same predicates; on the other side two values are exchanged."""
        predicates = rng.sample(self._predicates, min(rng.choice((1, 1, 2, 3, 5)), len(self._predicates)))
        count = 3 if rng.random() < 0.2 else 2
        subjects = self._apart(count, (), lambda: self._name(rng))
        taken, table = list(subjects), {}
        for predicate in predicates:
            values = self._values(predicate, count, taken, rng)
            taken += values
            table[predicate] = values
        first = {p: self._wording(p, rng) for p in predicates}
        second = first if rng.random() < 0.4 else {p: self._wording(p, rng) for p in predicates}
        asked = rng.choice(predicates)
        one, two = rng.sample(range(count), 2)
        said = {p: list(values) for p, values in table.items()}
        if not agree:
            said[asked][one], said[asked][two] = said[asked][two], said[asked][one]
        order = rng.sample(range(count), count)
        premise = _described(subjects, table, first, order, rng)
        if rng.random() < 0.6:
            return premise, fill(second[asked], subjects[one], said[asked][one])
        order = order if rng.random() < 0.5 else rng.sample(range(count), count)
        hypothesis = _described(subjects, said, second, order, rng)
        return (premise, hypothesis) if rng.random() < 0.7 else (hypothesis, premise)

    def related(self, agree: bool, rng: random.Random) -> Sides | None:
        """Two names in a relation, and the same or another relation of such names on the other side, among more facts.

        The object is one of either relation, so that no side tells by itself which of the two holds.
        """
        said = rng.choice(self._predicates)
        asked = rng.choice(self._alike[shape(self._objects[said][0])])
        if said == asked or _words(said) & _words(asked):
            return None
        value = rng.choice(self._objects[rng.choice((said, asked))])
        name = self._apart(1, (value,), lambda: self._name(rng))[0]
        one, other = ((name, self._wording(p, rng), value) for p in (said, said if agree else asked))
        return self._among(one, other, (said, asked), rng)

    def confused(self, agree: bool, rng: random.Random) -> Sides:
        """Two things in a relation, and on the other side the same one in other words, or one easily taken for it."""
        said, other = rng.sample(rng.choice(RELATIONS), 2)
        value = self._name(rng) if rng.random() < 0.6 else rng.choice(self._objects[rng.choice(self._predicates)])
        name = self._apart(1, (value,), lambda: self._name(rng))[0]
        one, two = ((name, rng.choice(relation), value) for relation in (said, said if agree else other))
        return self._among(one, two, (), rng)

    def listed(self, agree: bool, rng: random.Random) -> Sides:
        """Facts about one thing, and most of them in other words: all right, or one with another value, or unsaid."""
        count = min(rng.choice((3, 4, 5, 6, 8, 10)), len(self._predicates) - 1)
        *said, unsaid = rng.sample(self._predicates, count + 1)
        name = self._apart(1, (), lambda: self._name(rng))[0]
        values: dict[str, str] = {}
        for predicate in (*said, unsaid):
            draw = partial(rng.choice, self._objects[predicate])
            values[predicate] = self._apart(1, [name, *values.values()], draw)[0]
        asked = rng.sample(said, 1 if rng.random() < 0.4 else rng.randint(max(2, count - 2), count))
        first, second, contested = dict(values), dict(values), rng.choice(asked)
        if rng.random() < 0.5:
            draw = partial(rng.choice, self._objects[contested])
            another = self._apart(1, [name, *values.values()], draw)[0]
            first[contested], second[contested] = rng.sample((values[contested], another), 2)
            if agree:
                second[contested] = first[contested]
        elif not agree:
            said[said.index(contested)] = unsaid
        if rng.random() < 0.7:
            rng.shuffle(said)
        sides = ((said, first), (asked, second))
        denied = {p for p in said if p != contested and rng.random() < DENIED / 2}

        def word(predicate: str) -> Wording:
            return self._denied(predicate, rng) if predicate in denied else self._wording(predicate, rng)

        one, other = (told([(name, word(p), facts[p]) for p in ps], rng) for ps, facts in sides)
        return one, other

    def detailed(self, agree: bool, rng: random.Random) -> Sides | None:
        """A value in one notation or two, or a near miss of it; or a name, of the thing or of a value, a letter off."""
        name = self._apart(1, (), lambda: self._name(rng))[0]
        chance = rng.random()
        if chance >= 0.75:
            return self._spelled(name, chance > 0.9, agree, rng)
        make = rng.choices((measured, counted, quantified), (7, 4, 4))[0]
        detail = make(rng)
        data = f"The {detail.predicate} of {{s}} is {{o}}."
        values = (detail.value, detail.same if agree else detail.other)
        wordings = rng.choice(((data, detail.said), (detail.said, data), (detail.said, detail.said)))
        one, other = ((name, wording, value) for wording, value in zip(wordings, values, strict=True))
        return self._among(one, other, (), rng)

    def _spelled(self, name: str, of_subject: bool, agree: bool, rng: random.Random) -> Sides | None:
        """A fact whose subject or value has one spelling, or two. Either side may have the wrong one, or both."""
        predicate = rng.choice(self._predicates)
        value = rng.choice(self._objects[predicate]) if of_subject else self._name(rng)
        right = name if of_subject else value
        wrong = misspelt(right, rng)
        if wrong is None or not apart(name, (value,)):
            return None
        first, second = rng.sample((wrong, right), 2)
        spellings = (first, first if agree else second)
        ends = [(spelling, value) if of_subject else (name, spelling) for spelling in spellings]
        one, other = ((subject, self._wording(predicate, rng), said) for subject, said in ends)
        return self._among(one, other, (predicate,), rng)

    def sequenced(self, agree: bool, rng: random.Random) -> Sides:
        """Two of a numbered list, and which of them comes first, right or exchanged."""
        one, two, place = self._apart(3, (), lambda: self._name(rng))
        return sequenced(one, two, place, agree=agree, rng=rng)

    def _among(self, one: Said, other: Said, but: Sequence[str], rng: random.Random) -> Sides:
        """Both facts as texts, among up to three more: the first text has all of these, the second has all or none."""
        name = one[0]
        around = rng.sample(self._predicates, min(rng.choice((0, 1, 2, 3, 3, 6)), len(self._predicates)))
        first, second, taken, whole = [one], [other], [name, other[0], one[2], other[2]], rng.random() < 0.5
        for predicate in around:
            if predicate in but:
                continue
            subject, found = name, rng.choice(self._objects[predicate])
            if rng.random() < 0.4:
                subject = self._apart(1, taken, lambda: self._name(rng))[0]
            if not apart(found, [*taken, subject]):
                continue
            taken += [subject, found]
            word = self._denied if rng.random() < DENIED else self._wording
            first.append((subject, word(predicate, rng), found))
            if whole:
                second.append((other[0] if subject == name else subject, word(predicate, rng), found))
        for facts in (first, second):
            if rng.random() < 0.7:
                rng.shuffle(facts)
            if rng.random() < 0.5:
                facts.sort(key=lambda fact: fact[0] in (name, other[0]))
        return told(first, rng), told(second, rng)

    def exchanged(self, agree: bool, rng: random.Random) -> Sides:
        """A relation between two of one type, in other words; arguments in their places, or exchanged.

        Some relations hold both ways: there an exchange is true, and a third name is false.
        """
        mutual = rng.random() < 0.15
        if mutual:
            kind, _, *wordings = rng.choice(ROLES["mutual"])
            first, second = rng.choice(wordings), rng.choice(wordings)
        else:
            kind, wordings = directed(rng)
            first, second = worded(wordings, rng)
        one, two, third = self._apart(3, (), lambda: rng.choice(ROLES[kind]) if rng.random() < 0.3 else self._name(rng))
        ends = (one, two) if agree else (two, one)
        if mutual:
            ends = rng.choice(((one, two), (two, one)) if agree else ((one, third), (third, two)))
        premise, hypothesis = fill(first, one, two), fill(second, *ends)
        if rng.random() < 0.4:
            more = fill(rng.choice(directed(rng)[1]), *self._apart(2, (one, two, third), lambda: self._name(rng)))
            premise = f"{premise} {more}" if rng.random() < 0.5 else f"{more} {premise}"
        return premise, hypothesis

    def reference(self, agree: bool, rng: random.Random) -> Sides:
        """*The former* and *the latter*, *respectively*, *the first* and *the second*: right, or exchanged."""
        predicate = rng.choice(self._predicates)
        one, two = self._apart(2, (), lambda: self._name(rng))
        values = self._values(predicate, 2, (one, two), rng)
        facts = [
            fill(self._wording(predicate, rng), name, value) for name, value in zip((one, two), values, strict=True)
        ]
        first, second = values if agree else values[::-1]
        if rng.random() < 0.25:
            said = [f"The {predicate} of {one} and {two} is {first} and {second}, respectively."]
        else:
            names = rng.choice(
                (("the former", "the latter"), ("the first", "the second"), ("the former", "the latter"))
            )
            opening = rng.choice((
                f"There are {one} and {two}.", f"{one} and {two} were compared.", f"Here we look at {one} and {two}.",
                f"{one} is listed together with {two}.",
            ))  # fmt: skip
            wording = self._wording(predicate, rng)
            parts = [fill(wording, name, value) for name, value in zip(names, (first, second), strict=True)]
            said = [opening, *(parts if rng.random() < 0.6 else [rng.choice(parts)])]
            if rng.random() < 0.5:
                return " ".join([opening, *parts]), rng.choice(facts)
        rng.shuffle(facts)
        return " ".join(facts), " ".join(said)


def _words(predicate: str) -> set[str]:
    """The longer words of a predicate, without their endings."""
    return {word[:5] for word in spoken(predicate).lower().split() if len(word) > 3}


def _described(
    subjects: Sequence[str],
    table: dict[str, list[str]],
    wordings: dict[str, Wording],
    order: Sequence[int],
    rng: random.Random,
) -> str:
    cells = [(i, p) for i in order for p in table] if rng.random() < 0.7 else [(i, p) for p in table for i in order]
    return told([(subjects[i], wordings[p], table[p][i]) for i, p in cells], rng)
