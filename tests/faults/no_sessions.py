"""The trial of a bundle, in which a session must not be reached: ``python -m tests.faults.no_sessions``."""

from __future__ import annotations

import sys
from typing import Any

from scorer.inference import model_session, sessions, trial


def none(*_: Any) -> Any:
    raise AssertionError("a session was created")


sessions.create_session = model_session.create_session = none
trial.main(sys.argv[1:])
