"""The session tree: nodes, layout, and navigation."""
