"""The file that ``scorer rate --save`` writes: true rates of one output, for gates and for later runs.

An audit reads the rates, a later ``scorer rate --calibration`` reads what the labels said about the metric.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
from msgspec import Meta

from ..errors import DamagedFileError, InputError, SchemaError, UsageError
from ..metric.inputs import one_array
from ..system.codec import Record, decode, encode
from ..system.files import read_small
from ..system.formats import RATES_SCHEMA
from .output_columns import fine_codes, rough_codes
from .output_files import data_files, guarded, open_parquet, run_columns

LARGEST_FILE = 16 << 20
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]


class SavedClass(Record, frozen=True, kw_only=True):
    """What labels said of the rows that the metric calls ``predicted``: share ``value`` of them is really 1, from an
    effective number of ``size`` labels (``None``: all rows were labelled)."""

    predicted: bool
    value: Share
    size: Annotated[float, Meta(ge=0)] | None
    labels: Count


class SavedRate(Record, frozen=True, kw_only=True):
    """A true rate of all rows (``group`` is ``None``) or of one group, with its 95 % interval.

    ``bounds``: where labels leave open which side is wrong, the least and the largest rate; ``value`` is the larger.
    """

    rate: str
    group: str | None
    rows: Count
    labels: Count
    metric: Share
    value: Share
    low: Share
    high: Share
    bounds: tuple[Share, Share] | None
    classes: Annotated[tuple[SavedClass, ...], Meta(min_length=1, max_length=2)]


class SavedStratum(Record, frozen=True, kw_only=True):
    """A stratum of the sample and its rows in the output that the labels are of."""

    label: str
    low: float | None
    high: float | None
    rows: Count


class RatesFile(Record, frozen=True, kw_only=True):
    """``out``, ``signature``, ``rows``: the output; ``digest``: :func:`labels_digest` of it. ``source``: ``labels``,
    ``column`` or ``calibration``. ``by``: the column of the groups."""

    schema: int = RATES_SCHEMA
    out: str
    signature: str
    rows: Count
    digest: str
    source: str
    by: str | None
    rates: tuple[SavedRate, ...]
    strata: tuple[SavedStratum, ...]

    @property
    def content(self) -> bytes:
        """The file."""
        return encode(self, indent=1) + b"\n"

    @classmethod
    def read(cls, path: Path, option: str) -> RatesFile:
        """Read a file.

        Raises:
            InputError: it cannot be read, is not such a file, or of another schema; names the field.
        """
        where = f"{option} {path}"
        try:
            return decode(read_small(path, LARGEST_FILE), cls, where, advice="run `scorer rate --save` again")
        except OSError as e:
            raise InputError(f"{where}: {e.strerror or e}; give a file that `scorer rate --save` wrote") from e
        except (DamagedFileError, SchemaError) as e:
            raise InputError(str(e)) from e

    def check_output(self, path: Path, option: str) -> None:
        """Refuse rates of another output.

        Raises:
            UsageError: the output's rows or labels are others than those that the rates are of.
        """
        if self.digest != labels_digest(path):
            raise UsageError(
                f"{option} is of other rows or labels ({self.out}) than {path}; run `scorer rate {path} --save` again"
            )


def labels_digest(path: Path) -> str:
    """What tells the labels of an output from those of another: a digest of row keys and labels, in order.

    Raises:
        InputError: nothing to read. ColumnError: a column has another type than a run writes.
    """
    found = hashlib.blake2b(digest_size=16)
    prefix = run_columns(path).prefix
    for file in data_files(path):
        with open_parquet(file) as parquet:
            names = parquet.schema_arrow.names
            label = next((name for name in (prefix + "fine", prefix + "rough") if name in names), None)
            wanted = [name for name in (prefix + "row_key", label) if name is not None and name in names]
            for group in range(parquet.num_row_groups):
                table = guarded(file, parquet.read_row_group, group, columns=wanted)
                for name in wanted:
                    found.update(_bytes(one_array(table, name), name, prefix))
    return found.hexdigest()


def _bytes(column: pa.Array, name: str, prefix: str) -> bytes:
    if name == prefix + "row_key":
        return b"".join(column.cast(pa.binary()).fill_null(b"").to_pylist())
    codes = fine_codes(column, name) if name == prefix + "fine" else rough_codes(column, name)
    return np.asarray(codes, np.int8).tobytes()
