"""``read`` and ``write`` for archives, SQLite databases, documents and merge conflicts.

``archives``, ``databases`` and ``conflicts`` know the formats; ``adapter`` connects them to pi.
"""
