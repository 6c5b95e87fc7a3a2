"""One module for each library. A runner takes the specification of a setting and returns a function that does one pass.

The pass answers with probabilities (pairs, 3) in the checkpoint's column order, or with the label of every row.
No module here but ``ours`` imports the scorer, so that peers run in processes that do not have it.
"""
