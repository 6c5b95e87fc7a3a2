"""Files in, files out: inputs, and the output folder that makes a run resumable. Knows nothing of the metric."""
