"""The MCP server: tools, resources and a prompt over `mesh.app`. Protocol and texts only; the SDK is named nowhere else."""
