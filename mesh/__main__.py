"""`python -m mesh`, where the script is not on the path."""

from mesh.cli.client import main

main()
