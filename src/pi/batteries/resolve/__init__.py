"""``resolve``: the model applies or discards the change that a tool has previewed last.

The stack of pending actions is part of pi. ``adapter`` offers the tool, makes the model use it, and
explains actions that are gone; ``views`` draws the call.
"""
