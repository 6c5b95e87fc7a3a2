"""Encrypted Parquet among good shards: quarantined with that reason, in both of its modes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest

from tests.faults import harness
from tests.faults.harness import Trial


class Keys(encryption.KmsClient):
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
def test_an_encrypted_shard_is_set_aside_and_says_so(trial: Trial, columns: list[str], plaintext_footer: bool) -> None:
    data, out = trial.own_data(), trial.out
    good = (data / "01.parquet").read_bytes()
    write_encrypted(data / "01.parquet", harness.rows(20), columns, plaintext_footer=plaintext_footer)
    assert "quarantined 01.parquet" in trial.run(code=3)
    # The folder has this word in its name too.
    failed = json.loads((out / "_failed" / "01.parquet.json").read_text().replace(str(trial.base), ""))
    assert "encrypted Parquet" in failed["message"]
    assert set(harness.outputs(out)) == set(harness.outputs(trial.whole)) - {"01.parquet"}
    assert not trial.succeeded
    harness.assert_nothing_half(out)
    (data / "01.parquet").write_bytes(good)
    trial.resume()
