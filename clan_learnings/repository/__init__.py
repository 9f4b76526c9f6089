"""Which repository a folder belongs to, and what its owner allows. Reads git's files; never starts git."""
