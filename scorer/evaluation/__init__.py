"""Scores compared with gold: the figures of the papers.

``gold``        a scored folder or file; ``inputs`` which rows share one
``truth``       the gold labels that the predictions are compared with; ``labels`` both together
``figures``     confusion counts to accuracy, precision, recall, F1, each side on its own
``bootstrap``   samples of inputs, and intervals from them
``correlation`` Pearson, Spearman, Kendall, by sentence and by system, and the test of two that share a rating
``metric_table`` all metrics next to one another; ``ranking``, ``calibration``: of the confidence
``human``       which columns hold human scores, and the metrics to compare with them
``report``      all of it as one object (``label_report``), which the console and ``--json`` show
``rates``       true rates from a few labels of people; ``challenge``: pairs of texts that differ in one thing

Only the correlations need more than the run-time dependencies: the extra ``stats``.
"""
