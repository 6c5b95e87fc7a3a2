"""What the program asks of the operating system and of Python: files, paths, child processes, signals, plain text."""
