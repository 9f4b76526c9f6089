"""Finding again what the clan knows: by words and identifiers. Reads only; how results are shown is not decided here."""
