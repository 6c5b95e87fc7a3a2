"""Reading Parquet that comes from anywhere, in a child process of bounded memory."""
