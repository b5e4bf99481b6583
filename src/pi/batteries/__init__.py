"""Systems that come with pi and need nothing but the public extension API.

Each is a package with a ``pi.toml`` that says when it is loaded, and is found through the entry
points of the group ``pi.extensions``, as a stranger's is. Nothing of pi imports them, and they do
not know each other.
"""
