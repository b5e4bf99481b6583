"""Files: resolving path references, reading and writing.

Tools access the disk only through this package. It does not import tools, models or sessions.
"""
