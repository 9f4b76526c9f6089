"""Which repository a folder belongs to, its settings, and what its user permits. Reads git's files; never starts git."""
