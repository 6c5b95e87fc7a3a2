"""True rates: what share of the rows is really wrong, from a few human labels and the metric's label of every row.

``population``  the metric's label, the confidence and the groups of every row; the strata that a sample is drawn from
``sampling``    which rows to label, with what probability
``items``       the drawn rows as people see them
``label_file``  the CSV file with the rows to label, and what people wrote into it
``page``        the HTML page to label in
``given``       the labels joined to the rows, from such a file or from a column of the data
``estimates``   rates with intervals, all rows and by group
``calibration`` what an earlier run's labels say about another run of the same metric
``report``      what ``scorer rate`` prints

The statistics are in :mod:`scorer.stats.post_stratified` and :mod:`scorer.stats.allocation`.
"""
