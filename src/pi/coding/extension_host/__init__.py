"""Extensions: discovery, loading, their API, events and contributions.

The host lies between the running session (``runtime``, used here only through protocols) and the
systems that publish on the bus. It does not import a screen; ``port.ui`` and ``port.drawing``
describe what can be drawn.
"""
