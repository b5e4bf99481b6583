"""Extensions that ship with pi and use only the public extension API.

Each is a package with a ``pi.toml`` that says when it is loaded. It is found through the entry
point group ``pi.extensions``, like any installed extension. Nothing in pi imports them, and they do
not import each other.
"""
