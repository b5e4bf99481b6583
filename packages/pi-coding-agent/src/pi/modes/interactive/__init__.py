"""The terminal application.

The screen is split by state: ``transcript``, ``composer`` and ``status`` do not import each other;
``app`` connects them and dispatches the session's events to them. ``dialogs`` are functions to
await, ``commands`` is a table. Everything accesses the session through ``SessionPort``.
"""
