"""Tonight's output against yesterday's: figures, drift, gates, history; one document, shown in several ways."""
