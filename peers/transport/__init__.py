"""Links that carry frames between nodes: WebSockets over mutual TLS, and links in memory. Knows no message."""
