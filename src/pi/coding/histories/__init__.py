"""Transcripts of other agents as sessions: pure readers, and the import that stores them."""
