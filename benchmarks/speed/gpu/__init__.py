"""A CUDA machine measured in two commands, each of some minutes: `make bench-gpu`.

    python -m benchmarks.speed.gpu first  --bundle DIR [--kit DIR] [--device cuda]
    python -m benchmarks.speed.gpu second --bundle DIR --checkpoint DIR

``first`` measures the device's rate on matrices, the bare session by graph and provider options, the first and the
second use of a bundle as a command and its stages, and many rows. ``second`` measures peers on the same pairs and the
labels of half precision. Every step is a process with a limit, writes a line of JSON as soon as it knows something, and
ends nothing when it fails. ``--seeded`` takes what :mod:`.seeded` made in place of ``--bundle``, for a machine without
the exporter. ``table`` prints the results as Markdown.
"""
