"""The real clients, from npm, against model servers of our own: what the model is sent."""
