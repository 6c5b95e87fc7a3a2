"""``make bench-gpu-...``: this project and its alternatives on a CUDA machine."""
