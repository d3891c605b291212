"""A penalty on the weights, and how strong the data ask for it to be."""
