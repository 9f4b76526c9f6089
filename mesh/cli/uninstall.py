"""`mesh uninstall`: remove our hooks, tools and skill from coding agents."""

from clan_learnings.agents.installer import uninstall
from mesh.cli.arguments import parser
from mesh.cli.install import add_choice, chosen, report, target


def main(argv: list[str]) -> int:
    """Take out what `mesh install` put in, and nothing else."""
    arguments = parser("uninstall", "mesh uninstall claude-code")
    add_choice(arguments)
    given = arguments.parse_args(argv)
    agents = chosen(given, arguments)
    return report(uninstall(agents, target(given.home, project=given.project), dry_run=given.dry_run), given, notes=[])
