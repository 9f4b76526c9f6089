"""`mesh mcp` as a person types it: help, and what is wrong with an option. Agents come in by `mesh.cli.mcp_client`."""

import sys

from clan_learnings.repository.remote_name import named_repo
from mesh.cli.arguments import any_text, parser
from mesh.cli.mcp_client import Options, serve
from mesh.cli.output import tell


def main(argv: list[str]) -> int:
    """Serve until nobody is there any more. A missing home is no reason not to start: the tools say so."""
    arguments = parser("mcp", "mesh mcp --agent codex")
    # None: found anew for each call, as a call may be about another team's repository.
    arguments.set_defaults(home=None)
    arguments.add_argument(
        "--agent",
        type=any_text,
        default="",
        metavar="NAME",
        help="the agent that calls (default: found from the surroundings)",
    )
    arguments.add_argument(
        "--session",
        type=any_text,
        default="",
        metavar="ID",
        help="its session (default: MESH_SESSION, else found from the surroundings)",
    )
    arguments.add_argument(
        "--repo",
        metavar="REPO",
        help="bind it to one repository, like github.com/acme/api: nothing of others is told, and records go under it",
    )
    arguments.add_argument("--read-only", action="store_true", help="offer no tool that writes")
    given = arguments.parse_args(argv)
    bound = None if given.repo is None else named_repo(given.repo)
    if sys.stdin.isatty():
        tell("mesh mcp: waiting for a coding agent on stdin; to make agents start this by themselves: mesh install")
    serve(Options(given.home or "", given.agent, given.session, bound, read_only=given.read_only))
