"""The status engine: up to two status rows below the footer.

Line 2 consists of items that the user selects. Line 3 comes from a command or a file of the user.
``engine`` and the modules it imports do not depend on pi: they take a state and the time and return
strings. ``adapter`` is the extension that connects the engine to pi; ``views`` is the only module
that imports the screen. In JSON and RPC mode the lines are published as events.
"""
