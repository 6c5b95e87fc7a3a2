"""Error spans: a run's sentences, or spans of another metric, against the spans that annotators marked.

``corpora``        Quintd-1 and D2T-Eval as rows, gold spans and spans of models; ``data``: their inputs as triples
``gold``         files of spans; ``agreement``: annotators joined by majority, and Fleiss' κ
``figures``      precision and recall, by category, sentence and text; ``report``: all of it

``python -m benchmarks.paper.spans convert|evaluate --help``.
"""
