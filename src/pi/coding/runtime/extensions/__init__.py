"""The extensions of a session: where they are found, loading, calling them."""
