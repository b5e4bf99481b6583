"""The extensions of a session: search, loading and calls."""
