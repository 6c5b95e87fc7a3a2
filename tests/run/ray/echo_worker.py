"""A worker process that writes its request twice and ends with it: ``python -m tests.run.ray.echo_worker``."""

from __future__ import annotations

import sys
import time

from scorer.system.signals import ends_with_parent

if __name__ == "__main__":
    ends_with_parent(int(sys.argv[1]))
    code, wait_s = map(float, sys.stdin.buffer.readline().split())
    for _ in range(2):
        sys.stdout.write(f"{code:.0f}\n")
        sys.stdout.flush()
        time.sleep(wait_s)
    sys.exit(int(code))
