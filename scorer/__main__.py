"""``python -m scorer`` is the ``scorer`` command."""

from .commands import main

main()
