"""The status engine in a real session, with commands that are slow or never end."""
