"""Speed: ``cpu`` and ``gpu`` against other runtimes; ``host_overhead`` and ``nightly``: all but the model. Processes of
:mod:`.harness` are timed, on rows of :mod:`.sample`."""
