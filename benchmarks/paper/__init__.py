"""Research around the metric: the papers' tables and what was compared with them. README.md lists the commands.

``reproduce``    Tables 1 and 2 of Dušek & Kasner: eight runs; ``make reproduce``
``published``    the figures that the papers print (``published.json``), next to those of an output
``reliability``  how far ratings agree with themselves
``figures``      the commands that ``docs/figures.md`` quotes, one section after the other
``decoding``     FactSpotter in decoding: a logits processor of transformers over a scorer
``rivals``, ``spans``, ``challenge``: other metrics, error spans, the generator of the challenge set
"""
