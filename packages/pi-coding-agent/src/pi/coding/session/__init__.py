"""Sessions: an append-only log of entries that form a tree, and its file.

The messages for the model are computed from the log and its leaf. Must not import runs, modes or
screens.
"""
