"""Encrypted Parquet among good shards: quarantined with that reason, in both of its modes."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

from tests.faults import harness

Reference = tuple[Path, Path]


class Keys(encryption.KmsClient):
    """Keeps keys in the open."""

    def __init__(self, _: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, master: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, master: str) -> bytes:
        return base64.b64decode(wrapped)


def write_encrypted(path: Path, table: pa.Table, columns: list[str], *, plaintext_footer: bool) -> None:
    settings = encryption.EncryptionConfiguration(
        "footer", column_keys={"key": columns}, plaintext_footer=plaintext_footer
    )
    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    pq.write_table(table, path, encryption_properties=properties)


@pytest.mark.parametrize("columns", [["text"], ["weight"], ["text", "weight"]])
@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_an_encrypted_shard_is_set_aside_and_says_so(
    reference: Reference, tmp_path: Path, bundle: Path, columns: list[str], plaintext_footer: bool
) -> None:
    data = Path(shutil.copytree(reference[0], tmp_path / "in"))
    write_encrypted(data / "01.parquet", harness.rows(20), columns, plaintext_footer=plaintext_footer)
    out = tmp_path / "out"
    said = harness.run(data, out, bundle, code=3)
    failed = (
        (out / "_failed" / "01.parquet.json").read_text().replace(str(tmp_path), "")
    )  # the folder has this word in its name too
    assert "encrypted Parquet" in json.loads(failed)["message"]
    assert "quarantined 01.parquet" in said
    assert set(harness.outputs(out)) == set(harness.outputs(reference[1])) - {"01.parquet"}
    assert not (out / "_SUCCESS").exists()
    harness.assert_nothing_half(out)
    shutil.copy(reference[0] / "01.parquet", data / "01.parquet")
    harness.run(data, out, bundle)
    assert harness.verdicts(out) == harness.verdicts(reference[1])


def test_a_column_that_nobody_asked_for_may_be_encrypted(tmp_path: Path, bundle: Path) -> None:
    data, out = tmp_path / "in", tmp_path / "out"
    data.mkdir()
    write_encrypted(data / "a.parquet", harness.rows(20), ["weight"], plaintext_footer=True)
    harness.run(data, out, bundle, "--keep", "text")
    assert harness.summary(out)["rows"]["in"] == 20
