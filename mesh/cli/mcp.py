"""`mesh mcp` as a person types it: help, and what is wrong with an option. Agents come in by `mesh.cli.mcp_client`."""

import sys

import click

from clan_learnings.repository.remote_name import named_repo
from mesh.cli.grammar import Given, command, option
from mesh.cli.mcp_client import ALL, USUAL, Options, serve
from mesh.cli.output import tell


@command("mesh mcp --agent codex")
@option(
    "--agent",
    metavar="NAME",
    may_be_empty=True,
    default="",
    help="the agent that calls (default: found from the surroundings)",
)
@option(
    "--session",
    metavar="ID",
    may_be_empty=True,
    default="",
    help="its session (default: MESH_SESSION, else found from the surroundings)",
)
@option(
    "--repo",
    metavar="REPO",
    help="bind it to one repository, like github.com/acme/api: nothing of others is told, and records go under it",
)
@option(
    "--tools",
    metavar="usual|all",
    type=click.Choice((USUAL, ALL)),
    default=USUAL,
    help="all: announce every argument and answer of the tools, which costs each session three times the tokens",
)
@option("--read-only", help="offer no tool that writes")
def main(given: Given) -> int:
    """Serve until nobody is there any more. A missing home is no reason not to start: the tools say so."""
    # None: found anew for each call, as a call may be about another team's repository.
    bound = None if given.repo is None else named_repo(given.repo)
    if sys.stdin.isatty():
        tell("mesh mcp: waiting for a coding agent on stdin; to make agents start this by themselves: mesh install")
    options = Options(
        given.home_option or "", given.agent, given.session, bound, tools=given.tools, read_only=given.read_only
    )
    serve(options)
