"""From rows to labels, and from finished outputs back to rows: the scorer, its pipeline, settings and summaries."""
