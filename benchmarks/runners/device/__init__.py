"""What a device does with the forms of a bundle's graph: one question a module, each asked in a process of its own.

The questions, their order and their words are in :mod:`benchmarks.gpu.checks`. A runner here answers with a dictionary
that JSON can hold, and its seconds are not a rate.
"""
