"""Steps of the parameters: directions, how far to go, and passes made of steps."""
