"""The session tree: which entries are listed, how they hang together, and going to one."""
