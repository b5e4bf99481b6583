"""Commands in the background: ``async`` for ``bash``, the ``job`` tool, and ``/jobs``.

``adapter`` connects them to a session, ``views`` draws them.
"""
