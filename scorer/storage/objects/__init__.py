"""Inputs and outputs in object stores, through the package ``obstore`` (extra ``objects``)."""
