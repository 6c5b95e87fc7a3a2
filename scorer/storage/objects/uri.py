"""Re-export of :mod:`scorer.storage.location` for modules that go with the present run."""

from ..location import SCHEMES as SCHEMES
from ..location import Location as Location
from ..location import StoreUri as StoreUri
from ..location import check_stores_apart as check_stores_apart
from ..location import parse_location as parse_location
