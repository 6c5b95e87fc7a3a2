"""Error spans: a run's sentences, and spans of other metrics, against the spans that annotators marked.

``corpora``    Quintd-1 and D2T-Eval as rows, gold spans and spans of models; ``inputs``: their inputs as triples
``files``      files of spans; ``agreement``: annotators joined by majority, and Fleiss' κ
``figures``    precision and recall, by category, sentence and text

``python -m benchmarks.paper.spans convert|evaluate --help``.
"""
