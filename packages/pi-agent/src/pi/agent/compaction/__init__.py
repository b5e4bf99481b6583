"""Compaction of long conversations: the pure part.

Works on items and strings; the function that calls a model is passed in. Must not import files,
settings on disk, clocks or sessions, nor decide when to compact.
"""
