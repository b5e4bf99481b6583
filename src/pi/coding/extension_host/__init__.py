"""Extensions: found, imported, given their API, told and asked, and taken back without a trace.

Stands between the session that runs (``runtime``, known here only by protocols) and the systems
that ask the bus. Knows no screen: what can be drawn is described in ``ui``.
"""
