"""Eight domains: what can be said of a subject, as a fact and in a text.

A wording is a verb phrase with ``{o}`` for the value. The template of a fact and the first wording are close, the
second is a paraphrase. ``wrong``: another relation with the same value, which the fact does not support.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from . import words
from .values import Value, date, number, year

Make = Callable[[Random], Value]


@dataclass(frozen=True)
class Attribute:
    """One thing that can be said. ``first``, ``second``: its wordings. ``wider``, ``narrower``: by value, a more
    general and a more special one."""

    predicate: str
    template: str
    first: str
    second: str
    negated: str
    wrong: str
    make: Make
    wider: Mapping[str, str] = field(default_factory=dict)
    narrower: Mapping[str, str] = field(default_factory=dict)

    @property
    def wordings(self) -> tuple[str, str]:
        return self.first, self.second


@dataclass(frozen=True)
class Domain:
    """``subject``: makes one. ``personal``: its pronoun depends on the name, otherwise it is *it*."""

    name: str
    subject: Callable[[Random], str]
    attributes: tuple[Attribute, ...]
    personal: bool = False


def _name(make: Callable[[Random], str]) -> Make:
    return lambda rng: Value(make(rng), "name")


def _word(*choices: str) -> Make:
    return lambda rng: Value(rng.choice(choices), "word")


def _count(low: int, high: int, step: int = 1) -> Make:
    return lambda rng: number(rng.randrange(low, high, step))


def _quantity(low: int, high: int, unit: str, other: str) -> Make:
    return lambda rng: number(rng.randrange(low, high), unit, other)


def _year(low: int, high: int) -> Make:
    return lambda rng: year(rng.randrange(low, high))


def _date(low: int, high: int) -> Make:
    return lambda rng: date(rng.randint(1, 28), rng.randint(1, 12), rng.randrange(low, high))


_FOODS = ("Chinese", "English", "French", "Indian", "Italian", "Japanese")
_SCIENCE = {"chemist": "scientist", "botanist": "scientist", "physicist": "scientist", "painter": "visual artist",
            "sculptor": "visual artist", "violinist": "musician", "pianist": "musician"}  # fmt: skip
_SPECIAL = {"chemist": "polymer chemist", "botanist": "marine botanist", "physicist": "nuclear physicist",
            "painter": "landscape painter", "sculptor": "marble sculptor", "violinist": "jazz violinist",
            "pianist": "jazz pianist"}  # fmt: skip

RESTAURANT = Domain("restaurant", words.venue, (
    Attribute("eatType", "<subject> is a <object>.", "is a {o}", "operates as a {o}", "is not a {o}",
              "is next door to a {o}", _word("pub", "coffee shop", "restaurant"),
              {"pub": "business", "coffee shop": "business", "restaurant": "business"},
              {"pub": "sports pub", "coffee shop": "vegan coffee shop", "restaurant": "rooftop restaurant"}),
    Attribute("food", "<subject> serves <object> food.", "serves {o} food", "offers {o} cuisine",
              "does not serve {o} food", "gives courses about {o} food", _word(*_FOODS),
              {"Chinese": "Asian", "Indian": "Asian", "Japanese": "Asian", "English": "European",
               "French": "European", "Italian": "European"},
              {"Chinese": "Cantonese Chinese", "Indian": "Punjabi Indian", "Japanese": "Okinawan Japanese",
               "English": "Cornish English", "French": "Breton French", "Italian": "Sicilian Italian"}),
    Attribute("area", "<subject> is in the <object> area.", "is in the {o} area", "can be found in the {o} area",
              "is not in the {o} area", "delivers to the {o} area", _word("city centre", "riverside")),
    Attribute("near", "<subject> is near <object>.", "is near {o}", "is close to {o}", "is not near {o}",
              "is far from {o}", _name(words.venue)),
    Attribute("priceRange", "<subject> has a <object> price range.", "has a {o} price range",
              "is in the {o} price range", "does not have a {o} price range",
              "used to have a {o} price range", _word("cheap", "moderate", "high")),
    Attribute("customer rating", "The customer rating of <subject> is <object>.", "has a {o} customer rating",
              "is given a {o} rating by its customers", "does not have a {o} customer rating",
              "hopes for a {o} customer rating", _word("low", "average", "high")),
))  # fmt: skip

CITY = Domain("city", words.city, (
    Attribute("country", "<subject> is a city in <object>.", "is a city in {o}", "is a town located in {o}",
              "is not a city in {o}", "has a twin town in {o}", _word(*words.COUNTRIES), words.COUNTRIES),
    Attribute("population", "<subject> has a population of <object>.", "has a population of {o}",
              "is home to {o} people", "does not have a population of {o}", "welcomes {o} tourists a year",
              _count(12_000, 990_000, 37)),
    Attribute("mayor", "The mayor of <subject> is <object>.", "has {o} as its mayor", "is led by mayor {o}",
              "does not have {o} as its mayor", "is the birthplace of {o}", _name(words.person)),
    Attribute("river", "<subject> lies on the river <object>.", "lies on the river {o}",
              "stands on the banks of the river {o}", "does not lie on the river {o}",
              "lies two hours from the river {o}", _name(words.river)),
    Attribute("founded", "<subject> was founded in <object>.", "was founded in {o}", "has existed since {o}",
              "was not founded in {o}", "was flooded in {o}", _year(1105, 1890)),
    Attribute("surface", "<subject> has an area of <object>.", "has an area of {o}", "extends over {o}",
              "does not have an area of {o}", "has parks with an area of {o}",
              _quantity(21, 460, "square kilometres", "square miles")),
))  # fmt: skip

PERSON = Domain("person", words.person, (
    Attribute("birth date", "<subject> was born on <object>.", "was born on {o}", "has a date of birth of {o}",
              "was not born on {o}", "got married on {o}", _date(1921, 1994)),
    Attribute("birth place", "<subject> was born in <object>.", "was born in {o}", "is a native of {o}",
              "was not born in {o}", "has never been to {o}", _name(words.city)),
    Attribute("occupation", "<subject> is a <object>.", "is a {o}", "works as a {o}", "is not a {o}",
              "once wanted to become a {o}", _word(*_SCIENCE), _SCIENCE, _SPECIAL),
    Attribute("employer", "<subject> works for <object>.", "works for {o}", "is employed by {o}",
              "does not work for {o}", "is a customer of {o}", _name(words.firm)),
    Attribute("children", "<subject> has <object> children.", "has {o} children", "is the parent of {o} children",
              "does not have {o} children", "has {o} cousins", _count(2, 9)),
    Attribute("height", "<subject> is <object> tall.", "is {o} tall", "has a height of {o}", "is not {o} tall",
              "can jump {o} far", _quantity(155, 199, "centimetres", "inches")),
), personal=True)  # fmt: skip

PHONE = Domain("phone", words.device, (
    Attribute("maker", "<object> makes the <subject>.", "is made by {o}", "is a phone from the manufacturer {o}",
              "is not made by {o}", "is insured by {o}", _name(words.firm)),
    Attribute("weight", "The <subject> weighs <object>.", "weighs {o}", "has a weight of {o}", "does not weigh {o}",
              "comes with a case of {o}", _quantity(121, 260, "grams", "ounces")),
    Attribute("price", "The <subject> costs <object>.", "costs {o}", "is sold for {o}", "does not cost {o}",
              "has a repair fee of {o}", _quantity(149, 1399, "euros", "dollars")),
    Attribute("release date", "The <subject> was released on <object>.", "was released on {o}", "came out on {o}",
              "was not released on {o}", "was announced on {o}", _date(2011, 2025)),
    Attribute("colour", "The <subject> comes in <object>.", "comes in {o}", "is available in {o}",
              "does not come in {o}", "was once planned in {o}", _word("red", "blue", "green", "yellow", "brown"), {},
              {"red": "dark red", "blue": "light blue", "green": "dark green", "yellow": "light yellow",
               "brown": "dark brown"}),
    Attribute("cameras", "The <subject> has <object> cameras.", "has {o} cameras", "is equipped with {o} cameras",
              "does not have {o} cameras", "is tested with {o} cameras", _count(2, 7)),
))  # fmt: skip

WEATHER = Domain("weather", words.city, (
    Attribute("high", "The high in <subject> is <object>.", "has a high of {o}", "sees a maximum temperature of {o}",
              "does not have a high of {o}", "had a record of {o} ten years ago",
              _quantity(11, 38, "degrees Celsius", "degrees Fahrenheit")),
    Attribute("wind", "The wind speed in <subject> is <object>.", "has a wind speed of {o}", "gets winds of {o}",
              "does not have a wind speed of {o}", "has speed limits of {o}",
              _quantity(11, 95, "kilometres per hour", "miles per hour")),
    Attribute("sky", "<subject> has <object>.", "has {o}", "gets {o}", "does not have {o}",
              "sells postcards of {o}", _word("rain", "snow", "fog", "sunshine"),
              {"rain": "precipitation", "snow": "precipitation"},
              {"rain": "freezing rain", "snow": "heavy snow", "fog": "dense fog"}),
    Attribute("humidity", "The humidity in <subject> is <object> percent.", "has a humidity of {o} percent",
              "records a humidity of {o} percent", "does not have a humidity of {o} percent",
              "has an unemployment rate of {o} percent", _count(21, 97)),
    Attribute("sun hours", "<subject> has <object> hours of sun.", "has {o} hours of sun", "gets {o} hours of sun",
              "does not have {o} hours of sun", "has {o} hours of live music", _count(2, 14)),
))  # fmt: skip

BOOK = Domain("book", words.title, (
    Attribute("author", "<subject> was written by <object>.", "was written by {o}", "is a work by the author {o}",
              "was not written by {o}", "was translated by {o}", _name(words.person)),
    Attribute("pages", "<subject> has <object> pages.", "has {o} pages", "is {o} pages long",
              "does not have {o} pages", "has {o} footnotes", _count(96, 890)),
    Attribute("year", "<subject> was published in <object>.", "was published in {o}", "first appeared in {o}",
              "was not published in {o}", "was filmed in {o}", _year(1902, 2021)),
    Attribute("publisher", "<object> published <subject>.", "was published by {o}", "was brought out by {o}",
              "was not published by {o}", "was rejected by {o}", _name(words.firm)),
    Attribute("language", "<subject> was written in <object>.", "was written in {o}",
              "has {o} as its original language", "was not written in {o}", "was never translated into {o}",
              _word("Danish", "Polish", "Turkish", "Spanish", "Korean")),
    Attribute("genre", "<subject> is a <object>.", "is a {o}", "belongs on the shelf as a {o}", "is not a {o}",
              "makes fun of a {o}", _word("crime novel", "history textbook", "travel guide", "love poem"),
              {"crime novel": "novel", "history textbook": "textbook", "travel guide": "guide", "love poem": "poem"},
              {"crime novel": "Nordic crime novel", "history textbook": "naval history textbook",
               "travel guide": "budget travel guide", "love poem": "tragic love poem"}),
))  # fmt: skip

BUILDING = Domain("building", words.house, (
    Attribute("architect", "<subject> was designed by <object>.", "was designed by {o}",
              "is the work of architect {o}", "was not designed by {o}",
              "was once visited by {o}", _name(words.person)),
    Attribute("height", "<subject> is <object> tall.", "is {o} tall", "has a height of {o}", "is not {o} tall",
              "has a cellar with a length of {o}", _quantity(31, 290, "metres", "feet")),
    Attribute("floors", "<subject> has <object> floors.", "has {o} floors", "consists of {o} floors",
              "does not have {o} floors", "has {o} lifts", _count(4, 60)),
    Attribute("completed", "<subject> was completed in <object>.", "was completed in {o}", "was finished in {o}",
              "was not completed in {o}", "was damaged by a fire in {o}", _year(1871, 2019)),
    Attribute("location", "<subject> is in <object>.", "is in {o}", "is located in {o}", "is not in {o}",
              "looks like a building in {o}", _name(words.city)),
    Attribute("use", "<subject> is a <object>.", "is a {o}", "is used as a {o}", "is not a {o}",
              "is across the street from a {o}", _word("museum", "hotel", "library", "hospital"),
              {"museum": "public building", "hotel": "commercial building", "library": "public building",
               "hospital": "medical building"},
              {"museum": "railway museum", "hotel": "luxury hotel", "library": "medical library",
               "hospital": "children's hospital"}),
))  # fmt: skip

COMPANY = Domain("company", words.firm, (
    Attribute("founder", "<subject> was founded by <object>.", "was founded by {o}", "was started by {o}",
              "was not founded by {o}", "was sued by {o}", _name(words.person)),
    Attribute("founding date", "<subject> was founded on <object>.", "was founded on {o}", "has existed since {o}",
              "was not founded on {o}", "lost a lawsuit on {o}", _date(1931, 2015)),
    Attribute("headquarters", "<subject> is based in <object>.", "is based in {o}", "has its headquarters in {o}",
              "is not based in {o}", "has a warehouse in {o}", _name(words.city)),
    Attribute("employees", "<subject> has <object> employees.", "has {o} employees", "employs {o} people",
              "does not have {o} employees", "has {o} shareholders", _count(14, 9_800)),
    Attribute("revenue", "<subject> has a yearly revenue of <object>.", "has a yearly revenue of {o}",
              "takes in {o} per year", "does not have a yearly revenue of {o}", "has yearly losses of {o}",
              _quantity(11, 940, "million euros", "million dollars")),
    Attribute("product", "<subject> makes <object>.", "makes {o}", "is a producer of {o}", "does not make {o}",
              "buys {o}", _word("cheese", "furniture", "bicycles", "paint"),
              {"cheese": "food"},
              {"cheese": "goat cheese", "furniture": "garden furniture", "bicycles": "racing bicycles",
               "paint": "water-based paint"}),
))  # fmt: skip

DOMAINS = (RESTAURANT, CITY, PERSON, PHONE, WEATHER, BOOK, BUILDING, COMPANY)
