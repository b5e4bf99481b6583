"""The multi-line editor.

``document`` is the text with undo, kill ring and paste markers, independent of a screen. ``layout``
wraps it into rows and draws them, ``suggestions`` and ``history`` propose other text, and
``editor`` handles keys and returns rows.
"""
