"""Research around the metric: the papers' tables and what was compared with them. README.md lists the commands."""
