"""Plain pairs for a classifier of triples (FactSpotter): texts that say a triple, say another value, or neither."""

from __future__ import annotations

from .sentences import CONTRADICTORY, ENTAILED, NEUTRAL, Pair

_FACTS = (
    ("Alan Bean", "birthPlace", "Wheeler, Texas", "Alan Bean was born in {}.", "Lisbon"),
    ("Ilse Brandt", "occupation", "architect", "Ilse Brandt works as an {}.", "engineer"),
    ("Kestria", "capital", "Valdoria", "The capital of Kestria is {}.", "Tirnava"),
    ("Aarhus Airport", "runwayLength", "2776", "The runway of Aarhus Airport is {} metres long.", "1850"),
    ("The Salt Road", "author", "Clara Voss", "The Salt Road was written by {}.", "Lin Meihua"),
    ("The Salt Road", "numberOfPages", "640", "The Salt Road has {} pages.", "98"),
    ("Petrel 3", "launchDate", "1999-05-04", "Petrel 3 was launched on {}.", "2021-10-12"),
    ("Nuria Vidal", "team", "Port Selene United", "Nuria Vidal plays for {}.", "Velmar Rangers"),
    ("Borrel soup", "ingredient", "lentils", "Borrel soup is made with {}.", "pumpkin"),
    ("Ostrava Bridge", "location", "Czech Republic", "Ostrava Bridge is in the {}.", "Sunda Republic"),
    ("Helen Marsh", "almaMater", "University of Leeds", "Helen Marsh studied at the {}.", "University of York"),
    ("Stony Ford", "populationTotal", "14,500", "Stony Ford has a population of {}.", "3,000"),
    ("Mirador", "composer", "Ada Forsberg", "The opera Mirador was composed by {}.", "Paolo Greco"),
    ("Kofi Mensah", "nationality", "Ghana", "Kofi Mensah is from {}.", "Kenya"),
    ("The Tin Whistle", "food", "French", "The Tin Whistle serves {} food.", "Japanese"),
    ("The Tin Whistle", "area", "riverside", "The Tin Whistle is in the {} area.", "city centre"),
    ("Amara Okafor", "birthYear", "1987", "Amara Okafor was born in {}.", "1931"),
    ("Aurora", "operator", "Velmar Space Agency", "Aurora was operated by the {}.", "Tirnava Institute"),
    ("Green Lantern", "priceRange", "cheap", "Green Lantern is a {} place to eat.", "very expensive"),
    ("Lower Moravia", "language", "Welsh", "People in Lower Moravia speak {}.", "Turkish"),
    ("John Whitfield", "spouse", "Maria Petrov", "John Whitfield is married to {}.", "Amy Lund"),
    ("Harbour Grill", "customerRating", "5 out of 5", "Harbour Grill has a customer rating of {}.", "1 out of 5"),
    ("Winter Ledger", "genre", "crime novel", "Winter Ledger is a {}.", "collection of poems"),
    ("Tomás Rivera", "almaMater", "Universidad de Granada", "Tomás Rivera is a graduate of {}.", "Upsala College"),
)  # fmt: skip
"""Subject, predicate, object, a text with a place for the object, and another object."""


def fact_pairs() -> tuple[Pair, ...]:
    """One entailed, one neutral and one contradictory pair of each fact, both texts as the classifier reads them.

    Premise: the text; hypothesis: the triple.

    Raises:
        MissingDependencyError: the extra ``factspotter`` is not installed.
    """
    from scorer.metric import factspotter
    from scorer.metric.facts import Triple

    found = []
    for i, (subject, predicate, value, text, other) in enumerate(_FACTS):
        asked = factspotter.ask(factspotter.describe(Triple(subject, predicate, value)))
        elsewhere = _FACTS[(i + len(_FACTS) // 2) % len(_FACTS)]
        for said, meant in (
            (text.format(value), ENTAILED),
            (elsewhere[3].format(elsewhere[2]), NEUTRAL),
            (text.format(other), CONTRADICTORY),
        ):
            found.append(Pair(factspotter.read(said), asked, meant))
    return tuple(found)
