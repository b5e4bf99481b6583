"""``resolve``: the model applies or discards the change that a tool has previewed last.

The stack of pending actions is part of pi. ``adapter`` registers the tool, makes the model use it,
and explains why previews of an earlier session are gone; ``views`` draws the call.
"""
