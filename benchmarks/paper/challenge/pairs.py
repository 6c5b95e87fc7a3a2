"""The kinds that need records of their own: two entities, an order, a quantity of a whole, a sum.

Each maker returns one case; the facts have templates of their own in :data:`PAIR_TEMPLATES`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from scorer.metric.facts import Triple

from . import words
from .case import NOT_OK, Kind, Pair
from .domains import DOMAINS
from .edits import make_record
from .values import other

# Relations that differ when subject and object are exchanged: predicate, template, two wordings for texts (the subject
# first and the object first, so that the order of the names says nothing), makers.
_ROLES = (
    ("team", "defeated", "<subject> defeated <object>.",
     ("{s} won the match against {o}.", "{o} lost the match to {s}."), words.team),
    ("company", "acquired", "<subject> acquired <object>.",
     ("{s} took over {o}.", "{o} was taken over by {s}."), words.firm),
    ("person", "teacher of", "<subject> was the teacher of <object>.",
     ("{s} taught {o}.", "{o} was taught by {s}."), words.person),
    ("person", "successor of", "<subject> is the successor of <object>.",
     ("{s} succeeded {o}.", "{o} was succeeded by {s}."), words.person),
    ("city", "north of", "<subject> is north of <object>.",
     ("{s} lies to the north of {o}.", "{o} lies to the south of {s}."), words.city),
    ("company", "supplier of", "<subject> is a supplier of <object>.",
     ("{s} supplies {o}.", "{o} is supplied by {s}."), words.firm),
    ("building", "taller than", "<subject> is taller than <object>.",
     ("{s} rises above {o}.", "{o} is lower than {s}."), words.house),
    ("person", "hired", "<subject> hired <object>.",
     ("{s} gave a job to {o}.", "{o} got a job from {s}."), words.person),
)  # fmt: skip
_WHOLES = (
    ("city", "bridges closed", "<object> of the bridges in <subject> are closed.", "bridges in {s} are closed",
     words.city),
    ("building", "rooms heated", "<object> of the rooms in <subject> are heated.", "rooms in {s} are heated",
     words.house),
    ("company", "engineers on the staff", "<object> of the employees of <subject> are engineers.",
     "employees of {s} are engineers", words.firm),
    ("restaurant", "vegan dishes", "<object> of the dishes at <subject> are vegan.", "dishes at {s} are vegan",
     words.venue),
    ("book", "set in Paris", "<object> of the chapters of <subject> are set in Paris.",
     "chapters of {s} are set in Paris", words.title),
)  # fmt: skip
_OF_REFERENCE = frozenset(
    {"employer", "birth place", "mayor", "country", "headquarters", "founder", "architect", "location"}
)
_PARTS = ("None", "Some", "Most", "All")
_SIGNED = (
    ("weather", "low", "The low in <subject> is <object>.", "{s} has a low of {o}.", "degrees Celsius", words.city),
    ("company", "growth", "The growth of <subject> was <object>.", "{s} grew by {o}.", "percent", words.firm),
    ("company", "result", "The result of <subject> was <object>.", "{s} closed the year with a result of {o}.",
     "million euros", words.firm),
    ("team", "goal difference", "The goal difference of <subject> is <object>.",
     "{s} has a goal difference of {o}.", "", words.team),
    ("city", "elevation", "The elevation of <subject> is <object>.", "{s} has an elevation of {o}.", "metres",
     words.city),
)  # fmt: skip
_ORDERS = (
    ("event", "stages", ("first stop", "second stop"), ("The first stop of <subject> is <object>.",
     "The second stop of <subject> is <object>."), "{s} stops in {a} first and in {b} after that.",
     "{s} stops in {b} first and in {a} after that.", words.city),
    ("event", "acts", ("first act", "second act"), ("The first act at <subject> is <object>.",
     "The second act at <subject> is <object>."), "At {s}, {a} performs before {b}.",
     "At {s}, {a} performs after {b}.", words.person),
    ("person", "jobs", ("first employer", "second employer"), ("The first employer of <subject> was <object>.",
     "The second employer of <subject> was <object>."), "{s} worked for {a} first and later for {b}.",
     "{s} worked for {b} first and later for {a}.", words.firm),
    ("city", "mayors", ("former mayor", "present mayor"), ("The former mayor of <subject> was <object>.",
     "The present mayor of <subject> is <object>."), "{a} was the mayor of {s} until {b} took over.",
     "{b} was the mayor of {s} until {a} took over.", words.person),
)  # fmt: skip
_SUMS = (
    ("match", ("goals in the first half", "goals in the second half"),
     ("<subject> scored <object> goals in the first half.", "<subject> scored <object> goals in the second half."),
     "{s} scored {a} goals in the first half and {b} goals in the second half, {t} goals in total.", words.team),
    ("company", ("shops in Norway", "shops in Poland"),
     ("<subject> has <object> shops in Norway.", "<subject> has <object> shops in Poland."),
     "{s} has {a} shops in Norway and {b} shops in Poland, {t} shops altogether.", words.firm),
    ("building", ("floors above ground", "floors below ground"),
     ("<subject> has <object> floors above ground.", "<subject> has <object> floors below ground."),
     "{s} has {a} floors above ground and {b} floors below ground, which makes {t} floors.", words.house),
    ("person", ("sons", "daughters"), ("<subject> has <object> sons.", "<subject> has <object> daughters."),
     "{s} has {a} sons and {b} daughters, {t} children in all.", words.person),
)  # fmt: skip


def _two(make: Callable[[Random], str], rng: Random) -> tuple[str, str]:
    first = make(rng)
    second = make(rng)
    while second == first:
        second = make(rng)
    return first, second


def _roles(number: int, rng: Random) -> Pair:
    domain, predicate, _, wordings, make = rng.choice(_ROLES)
    one, two = _two(make, rng)
    wording = wordings[0] if rng.random() < 0.5 else wordings[1]
    plain, swapped = wording.format(s=one, o=two), wording.format(s=two, o=one)
    return Pair(domain, [Triple(one, predicate, two)], plain, swapped, 0)


def _quantifier(number: int, rng: Random) -> Pair:
    domain, predicate, _, wording, make = rng.choice(_WHOLES)
    subject, part = make(rng), rng.choice(_PARTS)
    wrong = other(_PARTS, part, rng)
    triples = [Triple(subject, predicate, part)]
    base, edited = (f"{one} of the {wording.format(s=subject)}." for one in (part, wrong))
    return Pair(domain, triples, base, edited, 0)


def _order(number: int, rng: Random) -> Pair:
    domain, _, predicates, _, right, wrong, make = rng.choice(_ORDERS)
    subject = {"event": f"the {words.city(rng)} Festival", "city": words.city(rng)}.get(domain) or words.person(rng)
    first, second = _two(make, rng)
    while subject in (first, second):
        first, second = _two(make, rng)
    if predicates == ("first stop", "second stop"):
        subject = f"the {words.firm(rng)} Tour"
    triples = [Triple(subject, predicates[0], first), Triple(subject, predicates[1], second)]
    base, edited = (text.format(s=subject, a=first, b=second) for text in (right, wrong))
    return Pair(domain, triples, _capital(base), _capital(edited))


def _sign(number: int, rng: Random) -> Pair:
    domain, predicate, _, wording, unit, make = rng.choice(_SIGNED)
    subject, value = make(rng), rng.choice((-1, 1)) * rng.randint(2, 39)
    triples = [Triple(subject, predicate, f"{value} {unit}".strip())]
    base, edited = (wording.format(s=subject, o=f"{n} {unit}".strip()) for n in (value, -value))
    return Pair(domain, triples, base, edited, 0)


def _sum(number: int, rng: Random) -> Pair:
    domain, predicates, _, wording, make = rng.choice(_SUMS)
    subject, one, two = make(rng), rng.randint(2, 9), rng.randint(2, 9)
    triples = [Triple(subject, predicates[0], str(one)), Triple(subject, predicates[1], str(two))]
    wrong = one + two + rng.choice((-2, -1, 1, 2))
    base, edited = (wording.format(s=subject, a=one, b=two, t=total) for total in (one + two, wrong))
    return Pair(domain, triples, base, edited)


def _conflation(number: int, rng: Random) -> Pair:
    """Two entities of one domain; in the edited text one value of each is exchanged."""
    domain = rng.choice(DOMAINS)
    one = make_record(domain, 2, rng)
    while True:
        two = make_record(domain, 9, rng)
        mine = tuple(next(f for f in two.facts if f.attribute is fact.attribute) for fact in one.facts)
        values = [fact.value.text for fact in (*one.facts, *mine)]
        if two.subject != one.subject and len({*values, one.subject, two.subject}) == len(values) + 2:
            break
    two = type(two)(domain, two.subject, mine)
    at = rng.randrange(2)
    texts = [record.text() for record in (one, two)]
    exchanged = []
    for record, partner in ((one, two), (two, one)):
        facts = list(record.facts)
        facts[at] = facts[at].with_value(partner.facts[at].value.text)
        exchanged.append(record.text(facts))
    triples = [*one.triples, *two.triples]
    return Pair(domain.name, triples, " ".join(texts), " ".join(exchanged))


def _long(number: int, rng: Random) -> Pair:
    """All attributes of two entities, ten to twelve facts; one value is wrong."""
    domain = rng.choice(DOMAINS)
    one, two = make_record(domain, 9, rng), make_record(domain, 9, rng)
    while one.subject == two.subject:
        two = make_record(domain, 9, rng)
    at = rng.randrange(len(two.facts))
    fact = two.facts[at]
    value = fact.attribute.make(rng)
    while value.text in (fact.value.text, one.subject, two.subject):
        value = fact.attribute.make(rng)
    wrong = [fact.with_value(value.text) if position == at else each for position, each in enumerate(two.facts)]
    triples, base = [*one.triples, *two.triples], f"{one.text()} {two.text()}"
    edited = f"{one.text()} {two.text(wrong)}"
    return Pair(domain.name, triples, base, edited, len(one.facts) + at)


def _reference(number: int, rng: Random) -> Pair:
    """*The former* and *the latter* of two people or places."""
    domain = rng.choice([one for one in DOMAINS if one.name in ("person", "city", "company", "building")])
    attribute = rng.choice([a for a in domain.attributes if a.predicate in _OF_REFERENCE])
    one, two = _two(domain.subject, rng)
    values = [attribute.make(rng), attribute.make(rng)]
    while values[0].text == values[1].text or {one, two} & {value.text for value in values}:
        values = [attribute.make(rng), attribute.make(rng)]
    triples = [Triple(name, attribute.predicate, value.text) for name, value in ((one, values[0]), (two, values[1]))]
    clauses = [attribute.wordings[0].format(o=value.text) for value in values]

    def text(former: str, latter: str) -> str:
        return f"There are {one} and {two}: the former {former}, and the latter {latter}."

    return Pair(domain.name, triples, text(*clauses), text(clauses[1], clauses[0]))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


PAIR_KINDS = (
    Kind("role swap", "subject and object are exchanged", NOT_OK, _roles),
    Kind("quantifier", "none, some, most and all are exchanged", NOT_OK, _quantifier),
    Kind("sign", "a number becomes negative, or is no longer", NOT_OK, _sign),
    Kind("temporal order", "what came first comes second", NOT_OK, _order),
    Kind("aggregation", "a sum is wrong", NOT_OK, _sum),
    Kind("conflation", "two entities exchange a value", NOT_OK, _conflation),
    Kind("long text", "one wrong value in a text of ten to twelve facts", NOT_OK, _long),
    Kind("reference", "the former and the latter are exchanged", NOT_OK, _reference),
)

PAIR_TEMPLATES = {
    **{(domain, predicate): template for domain, predicate, template, _, _ in _ROLES},
    **{(domain, predicate): template for domain, predicate, template, _, _ in _WHOLES},
    **{(domain, predicate): template for domain, predicate, template, *_ in _SIGNED},
    **{(one[0], name): template for one in _ORDERS for name, template in zip(one[2], one[3], strict=True)},
    **{(one[0], name): template for one in _SUMS for name, template in zip(one[1], one[2], strict=True)},
}  # fmt: skip
