"""A process between an actor of Ray and its worker: ``python -m scorer.run.ray.guard PARENT MODULE [ARGUMENT]``.

When a process of Ray ends, it sends SIGKILL to its children, but not to theirs. The shards of a worker that is killed
count as crashed. So this process is the child: when it ends, the kernel sends the worker SIGTERM, on which it gives its
shards back. Standard input and output are the worker's.
"""

from __future__ import annotations

import os
import subprocess
import sys

from ...system.signals import ends_with_parent

MODULE = "scorer.run.ray.guard"


def main(parent: int, module: str, *arguments: str) -> int:
    """Run the worker; its exit code, 128 + the number of a signal."""
    if not ends_with_parent(parent):  # the actor may be killed before it kills its children
        return 143
    code = subprocess.Popen([sys.executable, "-P", "-m", module, str(os.getpid()), *arguments]).wait()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), *sys.argv[2:]))
