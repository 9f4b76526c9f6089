"""What `mesh doctor` looks at: the node, what it knows, its pages. Each finding has its next step."""
