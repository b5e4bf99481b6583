"""From a frame of rows to bytes: the append-only screen.

``ledger`` decides which rows enter the terminal's scrollback, ``audit`` notices rows that changed
there although they may not, ``rows`` makes single rows fit to be written, ``emitters`` are the
four shapes of bytes, and ``screen`` holds the state between two frames.
"""
