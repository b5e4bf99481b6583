"""The multi-line editor, one part per state it has.

``document`` is the text with its undo, kill ring and paste markers, and knows nothing of a screen;
``viewport`` lays it out in rows; ``completion`` and ``history`` propose other text; ``editor`` puts
keys in and takes rows out.
"""
