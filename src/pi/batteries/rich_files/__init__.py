"""Archives, SQLite databases, documents and merge conflicts for ``read`` and ``write``.

``archives``, ``databases`` and ``conflicts`` know the formats and no session. Each has a handler
that connects it to paths of a session. ``files`` reads and writes files of the session, and turns
documents into text; ``adapter`` wraps the tools and all writes, and ``views`` draws tables and
lists.
"""
