"""Sums, moments, memory and threads: what knows nothing of networks."""
