"""Speed: ``cpu`` and ``gpu`` against other runtimes, in rounds of worker processes with a runner for each library;
``host_overhead``, ``nightly``, ``workers`` and ``audit``: the cost of everything but the model."""
