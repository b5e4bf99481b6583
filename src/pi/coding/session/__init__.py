"""Sessions: an append-only log of entries that form a tree, and its mirror in a file.

What the model sees is computed from the log and its leaf. Must not know runs, modes or screens.
"""
