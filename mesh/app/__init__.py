"""What every door calls: the command line, hooks, MCP and the local API. One use case a module; nothing here prints."""
