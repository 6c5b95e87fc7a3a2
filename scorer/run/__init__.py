"""A run over shards: its options, its plan, its executors, its resumption and its end; and a scored row explained."""

WORKER = "scorer.run.worker"
"""The module of a worker process."""
