"""``--ray``: workers on the nodes of a Ray cluster. Only :mod:`.cluster` imports Ray itself."""
