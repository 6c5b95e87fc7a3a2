"""A run over shards: what it is asked, what it plans, how it is resumed, how it ends, and a scored row explained."""

WORKER = "scorer.run.worker"
"""The module of a worker process."""
