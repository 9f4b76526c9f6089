"""What is done with a checkout, besides running it: the link that puts `mesh` on the PATH, and the recording in the README."""
