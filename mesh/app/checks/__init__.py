"""The checks of `mesh doctor`: the node, what it knows, its pages. Each problem comes with its next step."""
