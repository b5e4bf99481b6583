"""Files: what a path in somebody's words means, and how it is read, written and searched.

The one place through which tools touch the disk. Knows nothing of tools, models and sessions.
"""
