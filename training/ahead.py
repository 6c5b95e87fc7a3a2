"""Pools of batches, made while the ones before them are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt
import torch

from training.batches import Batch

Made = Callable[[int], list[Batch]]
Arrays = tuple[npt.NDArray[np.int64], ...]
"""Those of a batch. A tensor would travel between processes as an open file, of which a process has few."""


class Ahead:
    """The pools of a run, in order, by a thread, or by several processes.

    These are forked when this is made, with the data as it is then, so it must be before a device is in use.
    """

    def __init__(self, made: Made, makers: int) -> None:
        if makers == 1:
            self._makers: Executor = ThreadPoolExecutor(1)
            self._arrays: Callable[[int], list[Arrays]] = partial(_arrays, made)
        else:
            self._makers = ProcessPoolExecutor(makers, get_context("fork"), _remember, (made,))
            self._arrays = _arrays_here
            self._makers.submit(int).result()
        self._number = makers
        self._coming: deque[Future[list[Arrays]]] = deque(self._makers.submit(self._arrays, n) for n in range(makers))

    def __next__(self) -> list[Batch]:
        pool = self._coming.popleft().result()
        self._coming.append(self._makers.submit(self._arrays, self._number))
        self._number += 1
        return [Batch(*map(torch.from_numpy, arrays)) for arrays in pool]

    def close(self) -> None:
        """Ends the thread or the processes; pools that nobody asked for are not made."""
        self._makers.shutdown(cancel_futures=True)


def _arrays(made: Made, number: int) -> list[Arrays]:
    return [(batch.ids.numpy(), batch.segments.numpy(), batch.label.numpy()) for batch in made(number)]


_made: list[Made] = []


def _remember(made: Made) -> None:
    torch.set_num_threads(1)
    _made.append(made)


def _arrays_here(number: int) -> list[Arrays]:
    return _arrays(_made[-1], number)
