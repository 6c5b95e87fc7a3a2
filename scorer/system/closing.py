"""Owners of threads, processes, files and locks: a ``with`` block closes them at its end, however it ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """Something that is closed when its ``with`` block ends; :meth:`close` may also be called by itself."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is owned; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
