"""Score the batches of a Ray Data pipeline; the library Ray itself is not imported.

::

    from scorer.integrations.ray import ScoreBatches

    scored = ray.data.read_parquet("data").map_batches(
        ScoreBatches,
        fn_constructor_args=["/shared/bundle"],
        fn_constructor_kwargs={"device": "cuda"},
        batch_format="pyarrow",
        num_gpus=1,
        compute=ray.data.ActorPoolStrategy(size=4),
    )
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from ..scoring.scorer import Scorer
from ..scoring.settings import ScorerOptions, Settings
from ..system.arguments import shows_fields
from ..system.waiting import Closing


class ScoreBatches(Closing):
    """A callable class for ``Dataset.map_batches``. Each actor creates an instance, and so loads the model once.

    It scores rows; receipts, resuming and ``_run.json`` belong to ``scorer run``.

    Args:
        bundle: a folder that each node has, or the name of a model that ships.
        options: arguments of :class:`scorer.Scorer`. ``threads`` should be the ``num_cpus`` of the actor, because Ray
            does not bind actors to processors.

    Raises:
        ScorerError: the scorer cannot be set up.
    """

    @shows_fields(Settings)
    def __init__(self, bundle: str | Path, **options: Unpack[ScorerOptions]) -> None:
        self._scorer = Scorer(bundle, **options)

    def __call__(self, batch: Any) -> Any:
        """The batch with the output columns added; rows, order and other columns unchanged.

        Args:
            batch: a ``pyarrow.Table`` or a pandas frame, as ``batch_format`` says.

        Returns:
            The same kind of table.

        Raises:
            ColumnError: as :meth:`scorer.Scorer.score_batches`.
            TypeError: a batch of arrays, which is the default of Ray Data.
        """
        if isinstance(batch, Mapping):
            raise TypeError("batch is a mapping of arrays; call map_batches with batch_format='pyarrow'")
        (scored,) = self._scorer.score_batches([batch])
        return scored

    def close(self) -> None:
        """Close the scorer. Ray does not call this; it ends the actor's process."""
        self._scorer.close()
