"""One module for each library. A runner takes the specification of a setting and returns a function that does one pass.

The pass returns probabilities, float32, *Shape:* (pairs, 3), in the checkpoint's column order, or the label of every
row; those that measure the time themselves return it too, in seconds. ``spec`` is one entry of :mod:`..settings` with
the paths of the prepared files, and a runner writes into ``chosen`` what it decided (a batch size, shapes of calls).
No module here but ``ours`` imports the scorer, so that peers run in processes that do not have it.
"""
