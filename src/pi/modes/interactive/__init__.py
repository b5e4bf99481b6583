"""The terminal application: what people look at all day.

The screen is split by who owns which state: ``transcript`` (what was said), ``composer`` (what is
being written) and ``status`` (what goes on) do not import each other; ``app`` puts them together
and leads the session's events to them. ``dialogs`` are functions to await, ``commands`` a table.
Everything reaches the session through ``SessionPort``.
"""
