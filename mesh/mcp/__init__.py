"""The MCP server: tools, resources and a prompt over `mesh.app`. Protocol and texts only; no other package names the SDK."""
