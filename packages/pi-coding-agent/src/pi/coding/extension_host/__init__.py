"""Extensions: discovery, loading, their API, events and contributions.

The host connects extensions to the running session (``runtime``, used here only through protocols)
and to the event bus. It does not import a screen: extensions draw through ``port.ui`` and
``port.drawing``.
"""
