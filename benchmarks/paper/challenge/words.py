"""Names that were invented for the challenge set, and words that its values are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _of_parts(form: str, *parts: Sequence[object]) -> Callable[[Random], str]:
    """A maker of names that draws every part."""
    return lambda rng: form.format(*(rng.choice(part) for part in parts))


person = _of_parts("{} {}", FEMALE + MALE, _LAST)
city = _of_parts("{}{}", _CITY, _CITY_END)
firm = _of_parts("{} {}", _FIRM, _FIRM_END)
venue = _of_parts("The {} {}", _VENUE, _VENUE_END)
title = _of_parts("{} {}", _TITLE, _TITLE_END)
device = _of_parts("{} {}{}", _DEVICE, "ABCKMRSTX", range(2, 99))
river = _of_parts("{}", _RIVER)
house = _of_parts("{} {}", _HOUSE, _HOUSE_END)
team = _of_parts("{}{} {}", _CITY, _CITY_END, _TEAM_END)


def is_female(name: str) -> bool:
    """Whether a person is spoken of as *she*."""
    return name.split()[0] in FEMALE
