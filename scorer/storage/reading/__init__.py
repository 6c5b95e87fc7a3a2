"""Read untrusted Parquet files in a child process with bounded memory."""
