"""A Ray cluster: connecting to it, its head, the GPUs and processors for which there are workers, and the bundle and
template file of a run on its nodes.

A node that sees the driver's files under the driver's paths uses them there. Any other gets them through Ray's object
store, once, into the cache folder, where later runs find them. Both ways each file must have the driver's SHA-256.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import (
    BundleError,
    DeviceError,
    MissingDependencyError,
    ScorerError,
    TemplateError,
    UsageError,
    install_hint,
)
from ..inference import BUILTIN_BUNDLES
from ..inference.bundle import MANIFEST, Bundle
from ..inference.verification import cache_folder
from ..scoring.settings import Settings
from ..storage.local_files import discard, temporary_name
from ..system.files import file_sha256
from .executors import WorkerSlot

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 2.0
_GONE_SECONDS = 20.0
"""A head that is started again answers within this time."""
_LOOK_SECONDS = 1.0

BUNDLE, TEMPLATES = "bundle", "templates.json"
"""Names in the folder of a node: a folder, and a file."""
_PART = 64 << 20
"""Bytes of an object in the store."""

Parts = Mapping[str, Sequence[Any]]
"""References to the objects that a file consists of, by its name."""


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """The ``ray`` module, connected to a cluster until the context ends.

    Args:
        address: HOST:PORT, or ``auto`` for the cluster that runs on this machine; if there is none, Ray is started here
            and ends with the context.

    Raises:
        UsageError: an address of Ray Client.
        MissingDependencyError: Ray is not installed.
        DeviceError: there is no such cluster, or it runs another version of Ray or Python.
    """
    if address.startswith("ray://"):
        raise UsageError(
            f"--ray {address}: Ray Client is not supported; start the command on a node of the cluster, with --ray auto"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # otherwise a warning; workers name their device
    try:
        import ray
    except ImportError as error:
        raise MissingDependencyError(f"--ray needs Ray 2.60 or later; {install_hint('ray')}") from error
    options = {}
    configured = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    cluster = _on_this_machine() if configured == "auto" else configured
    if cluster is None:
        address, options = "local", {"include_dashboard": False}
    elif problem := listening_error(cluster, _CONNECT_SECONDS):
        # Ray tries for a minute, and then ends the process
        raise DeviceError(
            f"--ray {address}: nothing answers there ({problem}); give the address that `ray start --head` printed"
        )
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:  # ConnectionError, RuntimeError, ValueError, and some of Ray's own
        raise DeviceError(
            f"--ray {address}: {first_line(error)}; start a cluster with `ray start --head`, or give this machine the "
            "token of that cluster (~/.ray/auth_token, RAY_AUTH_MODE=token)"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _on_this_machine() -> str | None:
    """The address of the cluster that runs on this machine; one that was killed leaves its address."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        address: str | None = canonicalize_bootstrap_address("auto")
    except ConnectionError:
        return None
    return None if address is None or listening_error(address) else address


def first_line(error: BaseException) -> str:
    """A message of Ray in one line; its later lines are advice and traces."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split("\n")
    return next((line.strip().rstrip(".:") for line in lines if line.strip()), type(error).__name__)[:300]


def listening_error(address: str, wait_seconds: float = _ANSWER_SECONDS) -> str:
    """Why nothing listens on an address; empty if something does, or if it is not of the form HOST:PORT."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        return ""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), wait_seconds):
            return ""
    except (OSError, OverflowError) as error:
        return str(error) or type(error).__name__


@dataclass(frozen=True)
class Node:
    """A node of a Ray cluster that is alive."""

    id: str
    """Id that Ray gave it."""
    host: str
    """Host name."""
    cpus: int
    """Processors that Ray may give out, in use or not."""
    gpus: int
    """GPUs that Ray may give out, in use or not."""


@dataclass(frozen=True, kw_only=True)
class RaySlot(WorkerSlot):
    """A slot for one worker on a node."""

    node: str
    """Id of the node."""
    reserved: int
    """Processors that its actor reserves."""
    gpus: int
    """GPUs that its actor reserves."""
    number: int
    """Number of the worker on its node."""


@dataclass(frozen=True)
class Demand:
    """Share of each worker."""

    gpus: int
    """GPUs, 1 or 0."""
    cpus: int | None = None
    """Processors; ``None`` for all of its node, or for one next to a GPU."""

    def count(self, node: Node) -> int:
        """Number of workers that a node has room for."""
        if self.gpus:
            return node.gpus if not self.cpus else min(node.gpus, node.cpus // self.cpus)
        return node.cpus // (self.cpus or max(node.cpus, 1))


def demand_of(device: str, cpus: int | None, nodes: Sequence[Node]) -> Demand:
    """Choose the share of each worker; ``auto`` is a GPU if a node has one, otherwise processors.

    Args:
        device: value of ``--device``.
        cpus: value of ``--ray-cpus``.
        nodes: nodes of the cluster.

    Raises:
        UsageError: a device of one machine.
        DeviceError: no node has these processors or GPUs.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"--device {device} with --ray: Ray chooses the GPU of a worker; write auto, cpu or cuda")
    gpus = sum(node.gpus for node in nodes)
    demand = Demand(int(device == "cuda" or (device == "auto" and gpus > 0)), cpus)
    if not any(demand.count(node) for node in nodes):
        share = " and ".join(["a GPU"] * demand.gpus + [f"{cpus or 1} CPU cores"] * (not demand.gpus or bool(cpus)))
        largest = max((node.cpus for node in nodes), default=0)
        raise DeviceError(
            f"--ray: no node of the cluster has {share} to give out (nodes: {len(nodes)}, most CPU cores of a node: "
            f"{largest}, GPUs: {gpus}); start nodes, or change --device or --ray-cpus"
        )
    return demand


def slots_of(nodes: Sequence[Node], demand: Demand) -> list[RaySlot]:
    """The slots for workers, by node. A name is the host, with an id or a number where it would be ambiguous."""
    hosts = Counter(node.host for node in nodes)
    slots = []
    for node in nodes:
        count = demand.count(node)
        host = node.host if hosts[node.host] == 1 else f"{node.host}/{node.id[:8]}"
        cpus = demand.cpus or (min(1, node.cpus) if demand.gpus else node.cpus)
        device = "cuda:0" if demand.gpus else "cpu"  # a worker sees its own GPU alone
        for number in range(count):
            name = host if count == 1 else f"{host}#{number}"
            slots.append(RaySlot(name, device, node=node.id, reserved=cpus, gpus=demand.gpus, number=number))
    return slots


class Nodes:
    """The nodes of the cluster that this process is connected to.

    Args:
        ray: module of Ray.
        ask: see :func:`listening_error`.
        now: seconds on a clock that does not go back.
    """

    def __init__(
        self, ray: Any, ask: Callable[[str], str] = listening_error, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._ray, self._ask, self._now = ray, ask, now
        self._head = str(ray.get_runtime_context().gcs_address)
        self._looked = -_LOOK_SECONDS
        self._silent_since: float | None = None
        self._alive: list[Node] = []

    def alive(self) -> list[Node]:
        """Nodes that are alive, by their ids; the last known ones while the head does not answer. It is asked once a
        second: an answer takes as long as a small shard.

        Raises:
            DeviceError: the head has not answered for a while.
        """
        now = self._now()
        if now - self._looked < _LOOK_SECONDS:
            return self._alive
        self._looked = now
        # A question to a head that is gone blocks, and after a minute Ray ends the process that asked.
        if problem := self._ask(self._head):
            self._silent_since = now if self._silent_since is None else self._silent_since
            if now - self._silent_since > _GONE_SECONDS:
                raise DeviceError(
                    f"--ray: the head of the cluster, {self._head}, is gone ({problem}); start a cluster, on which the "
                    "same command resumes"
                )
            return self._alive
        self._silent_since = None
        nodes = []
        for node in self._ray.nodes():
            if node["Alive"]:
                resources, host = node.get("Resources", {}), node.get("NodeManagerHostname") or "node"
                nodes.append(Node(node["NodeID"], host, int(resources.get("CPU", 0)), int(resources.get("GPU", 0))))
        self._alive = sorted(nodes, key=lambda node: node.id)
        return self._alive


@dataclass(frozen=True)
class SentFile:
    """A file of the driver."""

    name: str
    """Path below the folder of a node."""
    source: str
    """Absolute path on the machine of the driver."""
    sha256: str
    """SHA-256 as hex."""

    def is_at(self, path: Path) -> bool:
        """Whether a path of this machine has its content."""
        with suppress(OSError):
            return file_sha256(path) == self.sha256
        return False


def files_of(settings: Settings) -> tuple[SentFile, ...]:
    """Files that workers need besides the data: the bundle's small files, the variants that they may open (that of the
    precision, and fp32 for ``--exact`` and for rows that are not finite), and the template file.

    Raises:
        BundleError, TemplateError: a file does not exist, or is not the one that was exported.
    """
    files = []
    if str(settings.bundle) not in BUILTIN_BUNDLES:
        bundle = Bundle.load(settings.bundle)
        digests = {MANIFEST: bundle.sha256, **{str(name): sha256 for name, sha256 in bundle.manifest.files.items()}}
        for variant in bundle.variants.values():
            if settings.precision in ("auto", variant.precision) or variant.precision == "fp32":
                digests |= {variant.file: variant.sha256, **variant.external}
        files += [SentFile(f"{BUNDLE}/{name}", str(bundle.path / name), digest) for name, digest in digests.items()]
    if isinstance(settings.templates, str | Path):
        path = Path(settings.templates)
        try:
            files.append(SentFile(TEMPLATES, str(path), file_sha256(path)))
        except OSError as error:
            raise TemplateError(f"template file {path}: {error.strerror}; give a readable JSON file") from error
    return tuple(files)


def parts_of(files: Sequence[SentFile], put: Callable[[bytes], Any]) -> Parts:
    """Put the files into the object store, in parts that a small one has room for.

    Raises:
        BundleError: a file cannot be read any more. :func:`place_files` finds changes since :func:`files_of`.
    """
    parts = {}
    for sent in files:
        try:
            with Path(sent.source).open("rb") as file:
                parts[sent.name] = [put(content) for content in iter(partial(file.read, _PART), b"")]
        except OSError as error:
            raise BundleError(f"{sent.source} cannot be sent to the nodes: {error.strerror}") from error
    return parts


def place_files(files: Sequence[SentFile], parts: Parts | None, get: Callable[[Any], bytes]) -> str | None:
    """The folder of this node that has the files; empty where they are in the driver's places.

    Args:
        files: files of the driver.
        parts: their parts in the object store (:func:`parts_of`); ``None`` to look for the files only.
        get: takes a part out of the object store.

    Returns:
        ``None`` where this node lacks them and they were not sent.

    Raises:
        ScorerError: they cannot be written, or changed since the driver read them first.
    """
    if all(sent.is_at(Path(sent.source)) for sent in files):
        return ""
    digest = hashlib.sha256(repr([(sent.name, sent.sha256) for sent in files]).encode()).hexdigest()
    folder = cache_folder() / "sent" / digest
    if parts is None:
        return str(folder) if all(sent.is_at(folder / sent.name) for sent in files) else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "_lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of the workers of one node, one writes and the others wait
            for sent in files:
                path = folder / sent.name
                if sent.is_at(path):
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_name(temporary_name())
                try:
                    with temporary.open("xb") as file:
                        file.writelines(map(get, parts[sent.name]))
                    if not sent.is_at(temporary):
                        raise ScorerError(
                            f"{sent.source} changed or arrived damaged; copy it again, or export the bundle again"
                        )
                    temporary.replace(path)
                finally:
                    discard(temporary)
    except OSError as error:
        raise ScorerError(
            f"the bundle cannot be written to {folder}: {error.strerror}; set XDG_CACHE_HOME in the environment of "
            "`ray start` to a folder with space, or give all nodes a bundle under the driver's path"
        ) from error
    return str(folder)


def with_files_of(settings: Settings, folder: str) -> Settings:
    """Settings with the files that a node has in a folder; an empty name for no folder."""
    bundle, templates = Path(folder, BUNDLE), Path(folder, TEMPLATES)
    if folder and bundle.exists():
        settings = replace(settings, bundle=str(bundle))
    if folder and templates.exists():
        settings = replace(settings, templates=str(templates))
    return settings
