"""The client of object stores, ``obstore``: how it is opened, and what its errors say."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ...errors import MissingDependencyError, OutputError, install_hint
from ..location import StoreUri

if TYPE_CHECKING:
    from types import ModuleType

_SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|SAS|CREDENTIAL", re.IGNORECASE)
_PUBLIC = re.compile(r"_FILE$|_URI$|_URL|REGION")
_INSECURE = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")


class StoreError(OutputError):
    """The store cannot be reached, or refuses a request."""


def client() -> ModuleType:
    """The package ``obstore``.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import obstore
    except ImportError as error:
        raise MissingDependencyError(f"object stores need the package obstore; {install_hint('objects')}") from error
    module: ModuleType = obstore
    return module


def connect(uri: StoreUri, *, patient: bool = True, limit_s: int = 60) -> Any:
    """A client of the bucket of a URI; credentials, endpoint and region are those of the environment.

    Args:
        patient: repeat requests for four minutes while the store does not answer, instead of a few seconds.
        limit_s: longest time of a request.

    Raises:
        MissingDependencyError: ``obstore`` is not installed. StoreError: the configuration is wrong.
    """
    client()
    from obstore.store import from_url

    insecure = any(os.environ.get(name, "").lower().startswith("http://") for name in _INSECURE)
    retries = {
        "max_retries": 10_000 if patient else 4,  # the time decides: pauses are random, and many are short
        "retry_timeout": timedelta(seconds=240 if patient else 10),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=5),
            "base": 2,
        },
    }
    options: dict[str, Any] = {"timeout": f"{limit_s}s", "connect_timeout": "10s"}
    if insecure:
        options["allow_http"] = True
    try:
        return from_url(uri.root, client_options=options, retry_config=retries)
    except Exception as error:  # depending on the store, several classes
        raise StoreError(f"{uri.root}: the store cannot be opened: {words(error)}; see docs/stores.md") from error


def words(error: BaseException) -> str:
    """An error of the client on one line of bounded length, without any credential of the environment."""
    text = str(error).split("\n\nDebug source")[0]
    for name, value in os.environ.items():
        if len(value) >= 8 and _SECRET.search(name) and not _PUBLIC.search(name):
            text = text.replace(value, "***")
    text = " ".join(text.split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
