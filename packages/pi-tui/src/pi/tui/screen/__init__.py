"""The append-only screen: converts frames of rows to bytes.

``history`` decides which rows enter the terminal's scrollback and detects rows that changed there.
``rows`` clips and compares single rows, ``emitters`` has the four update patterns, ``reflow`` and
``pane_match`` find history again after a resize, and ``screen`` holds the state between frames.
"""
