"""The libraries that only export needs: whether they are installed, their versions, and how they are kept quiet."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from importlib import metadata, util

from scorer.errors import MissingDependencyError, install_hint

_MODULES = ("torch", "transformers", "optimum.exporters.onnx", "onnx", "safetensors", "onnxruntime")
_PACKAGES = ("torch", "transformers", "optimum", "optimum-onnx", "onnx", "tokenizers", "safetensors")


def require() -> None:
    """Check that every library of the exporter is installed, without importing the heavy ones.

    Raises:
        MissingDependencyError: names the missing libraries and the extras that install them.
    """
    missing = [module for module in _MODULES if not _installed(module)]
    if missing:
        extras = ("export", "cpu") if "onnxruntime" in missing else ("export",)
        raise MissingDependencyError(
            f"export needs {', '.join(missing)}, which this Python ({sys.prefix}) does not have; "
            f"{install_hint(*extras)}"
        )


def versions() -> dict[str, str]:
    """Version of every package that a bundle's bytes depend on; packages that are not installed are left out."""
    installed = {}
    for name in ("d2t-scorer", *_PACKAGES, "onnxruntime", "onnxruntime-gpu"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' warnings, log lines and progress bars off stderr; all settings are put back after it.

    This package checks the conditions that they warn of, so that stderr holds only our own progress.
    """
    previous = logging.root.manager.disable
    # Read by the libraries when they are first imported, which happens inside this block.
    defaults = {
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TRANSFORMERS_VERBOSITY": "error",
        "TOKENIZERS_PARALLELISM": "false",
        "NNCF_CI": "1",  # else NNCF reports its use over the network
    }
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(previous)
            for name in added:
                os.environ.pop(name, None)


def _installed(module: str) -> bool:
    try:
        return util.find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False
