"""Rows, the units they are told in, and the mean loss on them."""
