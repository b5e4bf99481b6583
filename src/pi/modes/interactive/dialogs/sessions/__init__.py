"""Saved sessions to go on with: listed, searched, renamed, deleted."""
