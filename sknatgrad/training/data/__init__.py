"""Rows, their units, and the mean loss on them."""
