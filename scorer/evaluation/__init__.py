"""Scores compared with gold: the figures of the papers, and the baselines they were compared with.

``gold``        a scored folder or file; ``columns`` its labels and scores as arrays; ``inputs`` which rows share one
``truth``       the gold labels that the predictions are compared with; ``labels`` both together
``figures``     confusion counts to accuracy, precision, recall, F1, each side on its own
``bootstrap``   95 % intervals over inputs; the test of two dependent correlations
``correlation`` Pearson, Spearman, Kendall, by sentence and by system
``metric_table`` all metrics next to one another, with ``estimates``; ``reliability``: the ceiling of the ratings
``human``       which columns hold human scores, and the metrics to compare with them
``report``      all of it as one object, which ``rendering`` shows
``published``   what the papers printed
``spans``       flagged sentences or spans against error spans: files of them in ``span_files`` and ``span_gold``,
                shown by ``span_rendering``; ``agreement`` of the annotators who marked them
``baselines``   the metrics of other papers, with a run's output columns

Only the correlations need more than the run-time dependencies: the extra ``stats``.
"""
