"""Speed: ``cpu`` and ``gpu`` against other runtimes; ``host_overhead``, ``nightly`` and ``audit``: the cost of
everything but the model. All are timed by :mod:`.harness`, on rows of :mod:`.sample`."""
