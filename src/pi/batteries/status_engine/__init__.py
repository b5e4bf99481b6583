"""The status engine: what goes on, in up to two rows below the footer.

Line 2 is made of items that a person chooses; line 3 comes from a command or a file of theirs.
``engine``, and what it is made of, knows no host: it is given a state and the time, and gives
strings. ``adapter`` is the extension that ties it to pi, ``views`` all that knows the screen. In
JSON and RPC mode the lines are published as events.
"""
