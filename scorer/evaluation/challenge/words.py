"""Names that were invented for the challenge set, and words that its values are made of."""

from __future__ import annotations

from random import Random

FEMALE = ("Anna", "Mirela", "Judith", "Carla", "Ingrid", "Noemi", "Paula", "Teresa", "Wanda", "Olga", "Lucia", "Hilde")
MALE = ("Tomas", "Victor", "Edgar", "Pavel", "Martin", "Oskar", "Daniel", "Ruben", "Leon", "Albert", "Stefan", "Hugo")
_LAST = ("Berg", "Halloway", "Petrescu", "Lindqvist", "Moreno", "Kovac", "Tanner", "Brandt", "Okafor", "Varga",
         "Delgado", "Marsh", "Novotna", "Castell", "Winter", "Sorel", "Amato", "Reiner", "Holm",
         "Drummond")  # fmt: skip
_CITY = ("Karl", "Nor", "Bel", "Ham", "Ost", "Lin", "Mar", "Tor", "Wes", "Gran", "Sel", "Dun")
_CITY_END = ("holm", "stead", "mouth", "vale", "ford", "burn", "haven", "minster", "wick", "castle")
_FIRM = ("Nordia", "Helvano", "Brightwell", "Corvex", "Talmina", "Arctus", "Pellini", "Sundale", "Quorra", "Meridon")
_FIRM_END = ("Group", "Works", "Industries", "Partners", "Holding", "Labs")
_VENUE = ("Copper", "Silver", "Crooked", "Old", "Velvet", "Golden", "Quiet", "Painted", "Drowsy", "Amber")
_VENUE_END = ("Lantern", "Anchor", "Kettle", "Sparrow", "Orchard", "Bell", "Fiddler", "Compass", "Barrel", "Harp")
_TITLE = ("The Winter", "The Paper", "A Distant", "The Salt", "The Second", "A Borrowed", "The Glass", "The Last")
_TITLE_END = ("Harbour", "Garden", "Season", "Bridge", "Letter", "Orchestra", "Mountain", "Promise")
_DEVICE = ("Velar", "Onyx", "Pronto", "Lumio", "Zephyr", "Kestrel", "Nimbus", "Arca")
_RIVER = ("Ardle", "Mossa", "Tarn", "Velda", "Issen", "Corran", "Bistra", "Lowen")
_HOUSE = ("Marsden", "Alder", "Fenwick", "Coral", "Juniper", "Harbour", "Beacon", "Sterling", "Orion", "Saint Clare")
_HOUSE_END = ("Tower", "House", "Court", "Hall", "Point")
_TEAM_END = ("United", "Rovers", "City", "Athletic", "Wanderers")

COUNTRIES = {
    "Norway": "Europe", "Portugal": "Europe", "Poland": "Europe", "Austria": "Europe", "Chile": "South America",
    "Peru": "South America", "Kenya": "Africa", "Morocco": "Africa", "Japan": "Asia", "Vietnam": "Asia",
}  # fmt: skip


def person(rng: Random) -> str:
    """A first and a last name."""
    return f"{rng.choice(FEMALE + MALE)} {rng.choice(_LAST)}"


def city(rng: Random) -> str:
    """A town."""
    return rng.choice(_CITY) + rng.choice(_CITY_END)


def firm(rng: Random) -> str:
    """A company."""
    return f"{rng.choice(_FIRM)} {rng.choice(_FIRM_END)}"


def venue(rng: Random) -> str:
    """A place to eat."""
    return f"The {rng.choice(_VENUE)} {rng.choice(_VENUE_END)}"


def title(rng: Random) -> str:
    """A book."""
    return f"{rng.choice(_TITLE)} {rng.choice(_TITLE_END)}"


def device(rng: Random) -> str:
    """A telephone."""
    return f"{rng.choice(_DEVICE)} {rng.choice('ABCKMRSTX')}{rng.randint(2, 98)}"


def river(rng: Random) -> str:
    """A river, without the word."""
    return rng.choice(_RIVER)


def house(rng: Random) -> str:
    """A building."""
    return f"{rng.choice(_HOUSE)} {rng.choice(_HOUSE_END)}"


def team(rng: Random) -> str:
    """A football club."""
    return f"{city(rng)} {rng.choice(_TEAM_END)}"


def is_female(name: str) -> bool:
    """Whether a person is spoken of as *she*."""
    return name.split()[0] in FEMALE
