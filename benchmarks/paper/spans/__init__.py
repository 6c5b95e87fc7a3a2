"""Error spans: a run's sentences, and spans of other metrics, against the spans that annotators marked."""
