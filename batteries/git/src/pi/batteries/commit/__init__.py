"""``pi commit``: a commit message from the staged changes, written by the role ``commit``."""
