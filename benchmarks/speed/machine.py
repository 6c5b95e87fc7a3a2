"""Describe the machine on which a figure was measured."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
"""Instruction sets that decide which kernels run."""


def describe() -> dict[str, Any]:
    """Processor, cores that this process may use, instruction sets, memory, system."""
    cpu = _read("/proc/cpuinfo")
    fields = dict(re.findall(r"^(model name|cpu family|model|cpu MHz|cache size|flags)\s*: (.*)$", cpu, re.MULTILINE))
    memory = re.search(r"MemTotal:\s*(\d+)", _read("/proc/meminfo"))
    flags = fields.get("flags", "").split()
    return {
        "processor": fields.get("model name", platform.processor() or platform.machine()).strip(),
        "family": f"{fields.get('cpu family', '?')}/{fields.get('model', '?')}",
        "cores": cores(),
        "instructions": [flag for flag in _FLAGS if flag in flags],
        "cache": fields.get("cache size", ""),
        "memory_gb": round(int(memory[1]) / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def in_words(machine: dict[str, Any]) -> str:
    """One line for a caption."""
    sets = ", ".join(machine["instructions"])
    memory = f", {machine['memory_gb']:.0f} GB" if machine.get("memory_gb") else ""
    return f"{machine['processor']} (family {machine['family']}), {machine['cores']} cores, {sets}{memory}"


def cores() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
