"""Input: what arrives from a terminal, as keys, pastes, mouse reports and replies.

Bytes go through ``decoder``; a key is the string the terminal sent for it, and ``keys`` says what
it is called. ``keymap`` turns keys into actions. Nothing here reads a clock, a file or a terminal.
"""
