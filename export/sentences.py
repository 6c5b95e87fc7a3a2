"""Sentences for probe pairs: small sets of facts, with sentences that follow from them, may be true or contradict them.

A frame is one fact said four ways. ``{a}`` is who or what it is about, ``{b}`` the value, ``{c}`` another value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

ENTAILED, NEUTRAL, CONTRADICTORY = "entailment", "neutral", "contradiction"


class Pair(NamedTuple):
    """A premise, a hypothesis, and how they were meant; the meaning is used only to balance the probes."""

    premise: str
    hypothesis: str
    meant: str


class Frame(NamedTuple):
    """A fact said four ways, with the names and values it is about."""

    premise: str
    entailed: str
    neutral: str
    contradictory: str
    names: tuple[str, ...]
    values: tuple[str, ...]


def _frame(premise: str, entailed: str, neutral: str, contradictory: str, names: str, values: str) -> Frame:
    return Frame(premise, entailed, neutral, contradictory, tuple(names.split("|")), tuple(values.split("|")))


FRAMES = (
    _frame("{a} is a {b} restaurant by the river.", "The food of {a} is {b}.", "{a} is open on Sundays.",
           "{a} serves {c} food and no other.", "The Copper Kettle|Marlow's|Green Lantern|Casa Ondina",
           "French|Indian|Japanese|Italian"),
    _frame("You will find {a}, a {b} place, near the old station.", "{a} is {b}.", "{a} has a garden.",
           "{a} is not {b} at all.", "the Tin Whistle|Bramble & Rye|Oyster Yard", "family friendly|cheap|quiet"),
    _frame("{a} has a customer rating of {b}.", "The customer rating of {a} is {b}.", "{a} takes no cards.",
           "The customer rating of {a} is {c}.", "Harbour Grill|The Nook|Pasta Republic",
           "1 out of 5|3 out of 5|5 out of 5"),
    _frame("{a} was born in {b} and studied law there.", "The birth place of {a} is {b}.", "{a} has two sisters.",
           "{a} was born in {c}, far away from {b}.", "Ilse Brandt|Tomás Rivera|Amara Okafor|John Whitfield",
           "Lisbon|Cracow|Nairobi|Leeds"),
    _frame("In {b}, {a} became the mayor of the town.", "{a} became mayor in {b}.", "{a} won by a narrow margin.",
           "{a} first became mayor in {c}.", "Mr Petrov|Helen Marsh|Dr Ekström", "1987|2004|1931|2016"),
    _frame("{a} plays as a {b} for the national team.", "{a} is a {b}.", "{a} was injured last season.",
           "{a} has never played any sport.", "Nuria Vidal|Kofi Mensah|Lee Jun-ho", "goalkeeper|striker|defender"),
    _frame("The bridge of {a} is {b} metres long.", "The length of the bridge of {a} is {b} metres.",
           "The bridge of {a} was paid for with a loan.", "The bridge of {a} is only {c} metres long.",
           "Velmar|Stony Ford|Ostrava", "120|85|1,450|301.5"),
    _frame("{a} is the capital of {b}.", "The capital of {b} is {a}.", "{a} has a famous opera house.",
           "The capital of {b} is {c}.", "Valdoria|Tirnava|Port Selene", "Kestria|Lower Moravia|the Sunda Republic"),
    _frame("{a}, a novel of {b} pages, was written in one summer.", "{a} has {b} pages.", "{a} was made into a film.",
           "{a} is a poem of {c} lines.", "The Salt Road|Winter Ledger|A House of Reeds", "212|640|98"),
    _frame("The airport of {a} has {b} runways.", "{a} has an airport with {b} runways.",
           "The airport of {a} is owned by the state.", "There is no airport in {a}.", "Aarhus|San Jacinto|Mombasa",
           "two|three|four"),
    _frame("{a} sold {b} tonnes of apples last year.", "{a} sold apples.", "{a} will sell more apples next year.",
           "{a} did not sell a single apple last year.", "The cooperative|Our neighbour|The village of Elm",
           "12|forty|3,000"),
    _frame("The rocket {a} was launched on {b} from a platform at sea.", "{a} was launched on {b}.",
           "The launch of {a} was late by an hour.", "{a} has not been launched yet.", "Petrel 3|Aurora|Long Step",
           "4 May 1999|12 October 2021|the first of June"),
    _frame("{a} rose by {b} percent in the third quarter.", "{a} rose.", "{a} rose because of the weather.",
           "{a} fell by {c} percent in the third quarter.", "Sales|Exports of steel|The price of milk", "4|2.5|eleven"),
    _frame("After the rain, {a} had to close for {b} days.", "{a} was closed.", "{a} lost much money.",
           "{a} stayed open all the time.", "the museum|the ski lift|the northern road", "two|nine|thirty"),
    _frame("A {b} was seen in the garden of {a} this morning.", "There was a {b} in the garden of {a}.",
           "The {b} in the garden of {a} was hungry.", "No animal was seen in the garden of {a}.",
           "my aunt|the embassy|Professor Lund", "fox|heron|hedgehog"),
    _frame("{a} is made of {b}, onions and a little salt.", "{a} contains {b}.", "{a} tastes best when it is cold.",
           "There are no onions in {a}.", "Borrel soup|This pie|The stew of the day", "lentils|beef|pumpkin"),
    _frame("{a} speaks {b} with the children.", "{a} can speak {b}.", "{a} is a teacher.", "{a} knows no word of {b}.",
           "Grandmother|The new nurse|Paolo", "Welsh|Turkish|Cantonese"),
    _frame("The {b} of {a} was painted blue.", "{a} has a blue {b}.", "The {b} of {a} is very old.",
           "The {b} of {a} is red.", "the school|Miller's farm|the lighthouse", "door|roof|gate"),
    _frame("Doctors at {a} tested the drug on {b} patients.", "The drug was tested on patients.",
           "The drug helped most of the patients.", "Nobody has ever tested the drug.", "Saint Anne|the clinic|Upsala",
           "38|two hundred|1,024"),
    _frame("Trains from {a} to {b} leave every hour.", "There are trains from {a} to {b}.",
           "Trains from {a} to {b} are often full.", "No train goes from {a} to {b}.", "Ghent|York|Kyoto|Split",
           "the coast|Zagreb|the airport"),
    _frame("{a} composed the opera {b} when she was young.", "{b} was composed by {a}.", "{b} has three acts.",
           "{a} never composed an opera.", "Clara Voss|Lin Meihua|Ada Forsberg", "Undine|The Glass King|Mirador"),
    _frame("{a} weighs {b} kilograms and has a steel frame.", "The weight of {a} is {b} kilograms.",
           "{a} was built in a small workshop.", "{a} is made of wood alone.", "This bicycle|The loom|Model T-40",
           "9.8|14|230"),
    _frame("Because of the strike, {a} arrived {b} hours late.", "{a} was late.", "{a} complained to the company.",
           "{a} arrived before anyone expected it.", "the minister|our team|Ms Dahl", "three|six|two"),
    _frame("{a} is located {b} metres above sea level.", "The elevation of {a} is {b} metres.",
           "{a} is popular with walkers.", "{a} lies below the level of the sea.", "The hut|Adana Peak|Lake Orsa",
           "23|1,805|402"),
)  # fmt: skip

SHORT = (
    "It rains.", "It is wet.", "No.", "Yes.", "A man runs.", "He sits.", "She sings.", "Someone sings.", "Dogs bark.",
    "Cats sleep.", "Snow fell.", "It is cold.", "They won.", "They lost.", "We left early.", "Nobody left.", "Well.",
    "Prices rose.", "Prices fell.", "The door is open.", "The door is shut.", "Two birds fly.", "It is a pub.",
    "The food is good.", "The food is bad.", "I am here.", "Water boils.", "He is a cook.", "Open daily.", "Closed.",
)  # fmt: skip


def fill_frame(frame: Frame, name: str, value: int) -> tuple[Pair, Pair, Pair]:
    """The entailed, neutral and contradictory pair of a frame. ``value``: position of the value it is about."""
    b, c = frame.values[value], frame.values[(value + 1) % len(frame.values)]

    def fill(text: str) -> str:
        filled = text.format(a=name, b=b, c=c)
        return filled[0].upper() + filled[1:]

    premise = fill(frame.premise)
    return (
        Pair(premise, fill(frame.entailed), ENTAILED),
        Pair(premise, fill(frame.neutral), NEUTRAL),
        Pair(premise, fill(frame.contradictory), CONTRADICTORY),
    )


def frame_pairs() -> Iterator[tuple[str, Pair, Pair, Pair]]:
    """Every filled frame: its premise, and its entailed, neutral and contradictory pair."""
    for frame in FRAMES:
        for name in frame.names:
            for value in range(len(frame.values)):
                pairs = fill_frame(frame, name, value)
                yield (pairs[0].premise, *pairs)


def short_pairs() -> Iterator[Pair]:
    """Pairs of a few tokens, in every combination; how they are meant is not known and does not matter."""
    for i, premise in enumerate(SHORT):
        for j in range(1, len(SHORT)):
            yield Pair(premise, SHORT[(i + j) % len(SHORT)], NEUTRAL)
