"""What `mcp` is compared with: a server with seven tools that do nothing, on the protocol's own SDK, a process for each session.

python -m bench.sdk_server
"""

from mcp.server import MCPServer


def look(query: str, limit: int = 10) -> str:
    """Stands for a tool."""
    return query * limit


if __name__ == "__main__":
    server = MCPServer("peer", log_level="ERROR")
    for number in range(7):
        server.add_tool(look, name=f"look_{number}")
    server.run()
