"""The use cases: what command line, hooks, MCP server and local API call. One subject a module; nothing here prints."""
