"""Archives, SQLite databases, documents and merge conflicts for ``read`` and ``write``.

``archives`` and ``databases`` implement the formats, ``conflicts`` the format and its handler.
``files`` reads and writes files of the session, and turns documents into text. ``adapter`` has the
handlers of archives and databases, and wraps the tools and all writes; ``views`` draws tables and
lists.
"""
