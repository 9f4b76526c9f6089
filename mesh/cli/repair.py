"""`mesh repair`: a new database out of what can still be read."""

from dataclasses import asdict

from mesh.cli.arguments import parser
from mesh.cli.output import Progress, print_json
from mesh.sidecar.lock import only_sidecar
from mesh.store.home import open_home
from mesh.store.repair import repair


def main(argv: list[str]) -> int:
    """Salvage, and say how to get the rest."""
    given = parser("repair", "mesh repair").parse_args(argv)
    home = open_home(given.home)
    progress = Progress("operations")
    with only_sidecar(home):
        salvage = repair(home, progress)
    progress.done()
    if given.json:
        print_json(asdict(salvage))
        return 0
    print(
        f"saved {salvage.operations} operations and {salvage.statements} statements; the old file is {salvage.kept_as}"
    )
    if salvage.lost_feeds:
        print(f"{salvage.lost_feeds} feeds could not be read to their end")
    print("next: mesh verify; what is missing comes back with a bundle of another node: mesh import FILE")
    return 0
