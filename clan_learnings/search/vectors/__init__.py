"""The vectors of records: kept in a file, and the nearest of them found. What makes a vector of a text is in `embedders`."""
