"""Operating system and Python: files, paths, child processes, signals, plain text on a terminal."""
