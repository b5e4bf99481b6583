"""Make a long conversation short without forgetting what matters: the pure part.

Works on items and strings; the function that asks a model is passed in. Must not know files,
settings on disk, clocks, sessions or when a compaction is due.
"""
