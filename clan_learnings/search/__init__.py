"""Finding again what the clan knows: by words, identifiers and, where there are vectors, by meaning. Reads only; how results are shown is not decided here."""
