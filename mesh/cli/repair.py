"""`mesh repair`: a new database out of what can still be read."""

import os

from mesh.cli.arguments import parser
from mesh.cli.output import Progress, print_json
from mesh.sidecar.lock import only_sidecar
from mesh.store.home import open_home
from mesh.store.repair import repair


def main(argv: list[str]) -> int:
    """Salvage, and say how to get the rest."""
    given = parser("repair", "mesh repair").parse_args(argv)
    home = open_home(given.home)
    with only_sidecar(home):
        for private in (False, True):
            if private and not (home.has_private or os.path.exists(home.file("private.db.repaired"))):
                continue
            progress = Progress("operations")
            salvage = repair(home, private=private, progress=progress)
            progress.done()
            if given.json:
                print_json({"private": private} | salvage._asdict())
                continue
            word = "private" if private else "shared"
            if salvage.finished_only:
                print(f"{word}: finished a repair that had been cut short")
            else:
                print(f"{word}: saved {salvage.operations} operations and {salvage.statements} statements")
            if salvage.kept_as:
                print(f"  the old file is kept as {salvage.kept_as}; delete it once you no longer need it")
            if salvage.lost_ranges:
                print(f"  {salvage.lost_ranges} parts of feeds could not be read; what follows them waits for them")
    if not given.json:
        print("next: mesh verify; what is missing comes back with a bundle of another node: mesh import FILE")
    return 0
