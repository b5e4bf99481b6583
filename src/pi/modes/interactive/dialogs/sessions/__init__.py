"""The list of saved sessions: search, resume, rename, delete."""
