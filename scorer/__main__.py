"""The ``scorer`` command; also ``python -m scorer``."""

from __future__ import annotations

import sys

from .system.starting import end_on_signals, start_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Entry point. The worker of a run is started before anything else is imported, since its own imports take long."""
    if sys.platform != "win32":  # which is refused with a line
        end_on_signals()
    options = {argument.partition("=")[0] for argument in sys.argv}
    if sys.argv[1:2] == ["run"] and not {"--help", "-h", "--ray"} & options:
        from .run import WORKER

        start_worker(WORKER)
    from .commands import main as commands

    commands()


if __name__ == "__main__":
    main()
