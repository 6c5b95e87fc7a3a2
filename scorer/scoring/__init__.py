"""Everything that turns rows into labels, and finished outputs back into rows: the scorer, its pipeline, reuse."""
