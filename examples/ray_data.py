"""Score Parquet in a Ray Data pipeline: `python examples/ray_data.py IN OUT`, with `ray[data]` installed.

On GPUs pass `num_gpus=1` instead of `num_cpus`, and `"device": "cuda"` to the constructor. More actors: `size`, at most
the processors of the cluster less one, which Ray Data needs to list and read files.
"""

import sys

import ray

from scorer.integrations.ray import ScoreBatches

source, target = sys.argv[1:]
scored = ray.data.read_parquet(source).map_batches(
    ScoreBatches,
    fn_constructor_args=["embedded"],
    fn_constructor_kwargs={"threads": 1},
    batch_format="pyarrow",
    num_cpus=1,
    compute=ray.data.ActorPoolStrategy(size=1),
)
scored.write_parquet(target)
