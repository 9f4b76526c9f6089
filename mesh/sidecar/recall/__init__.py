"""The sidecar's own indexes: words in tantivy, meaning in vectors. Disposable: whatever is here can be made again from the database."""
