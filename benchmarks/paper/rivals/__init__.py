"""Metrics of other papers, each as a column of a Parquet file that ``scorer evaluate --metric COLUMN`` reads."""
