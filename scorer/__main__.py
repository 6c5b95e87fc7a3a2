"""The ``scorer`` command; also ``python -m scorer``."""

import sys
from contextlib import suppress
from typing import NoReturn


def main() -> NoReturn:
    """Entry point. The worker of a run is started before anything else is imported, since its own imports take long."""
    is_run = sys.argv[1:2] == ["run"] and not {"--help", "--ray"} & {*sys.argv}
    if is_run and sys.platform != "win32" and None not in (sys.stdin, sys.stdout, sys.stderr):  # none is closed
        from .run import WORKER
        from .system.worker_process import EARLY, WorkerProcess

        with suppress(OSError):  # the run tries again, and says what is wrong
            EARLY.append(WorkerProcess(WORKER, None))
    from .commands import main as commands

    commands()


if __name__ == "__main__":
    main()
