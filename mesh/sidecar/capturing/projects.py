"""Which project a session belongs to, for sampling: its repository, else the folder that is gone. Reads names only."""

import os

from clan_learnings.capture.home_folders import homeless


def project_of(repo: str, folder: str) -> str:
    """A repository's identity. A folder that is not there any more stands for itself: it was somebody's project."""
    if repo or not folder or os.path.isdir(folder):
        return repo
    return homeless(folder)
