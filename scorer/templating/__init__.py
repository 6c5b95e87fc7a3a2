"""Template files: made from references of single triples (``extract``), and compared with data (``check``)."""
