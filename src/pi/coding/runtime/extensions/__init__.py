"""The extensions of a session: searching, loading, calling."""
