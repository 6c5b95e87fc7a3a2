"""Measured rates of a bundle by device, in the user's cache folder, for ``scorer plan``."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from ..errors import DamagedFileError, SchemaError
from ..system.codec import Magnitude, Record, decode, encode
from ..system.files import read_small
from .verification import cache_folder


class MeasuredRate(Record, frozen=True, kw_only=True):
    """The rate of a bundle on a device."""

    schema: int = 1
    device: str
    """Kind and name, as a run records it."""
    precision: str
    """Precision of the variant."""
    tokens_per_s: Magnitude
    """Real tokens per second, without padding."""


def keep_rate(bundle_sha256: str, rate: MeasuredRate) -> None:
    """Store a rate in place of an earlier one of the same device and precision; do nothing if the folder cannot be
    written (:func:`.verification.keep_report` says so)."""
    key = hashlib.sha256(f"{rate.device}\0{rate.precision}".encode()).hexdigest()[:16]
    with suppress(OSError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        (cache_folder() / f"{bundle_sha256}-rate-{key}.json").write_bytes(encode(rate))  # half of it decodes to nothing


def best_rate(bundle_sha256: str) -> MeasuredRate | None:
    """The highest stored rate of a bundle, on any device; ``None`` without one."""
    rates = []
    with suppress(OSError):
        for path in cache_folder().glob(f"{bundle_sha256}-rate-*.json"):
            with suppress(OSError, ValueError, DamagedFileError, SchemaError):
                rates.append(decode(read_small(path, 1 << 12), MeasuredRate, path.name))
    return max(rates, key=lambda rate: rate.tokens_per_s, default=None)
