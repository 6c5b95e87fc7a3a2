"""Scores compared with gold: the figures of the papers.

``gold``        a scored output, and which of its rows share an input
``truth``       the gold labels that the predictions are compared with
``figures``     confusion counts to accuracy, precision, recall, F1, each side on its own
``bootstrap``   samples of inputs, and intervals from them
``correlation`` Pearson, Spearman, Kendall, by sentence and by system, and the test of two that share a rating
``metric_table`` all metrics next to one another; ``calibration``: of the confidence, and how it orders rows
``human``       which columns hold human scores, and the metrics to compare with them
``report``      all of it as one object (``label_report``), which the console and ``--json`` show
``sampling``, ``rates``  rows to label, and true rates from a few labels of people
``challenge``   pairs of texts that differ in one thing; ``listing``: rows of an output, filtered

Only the correlations need more than the run-time dependencies: the extra ``stats``.
"""
