"""Terminal input: keys, pastes, mouse reports and replies.

``decoder`` splits the bytes into events. A key is the string that the terminal sent, ``keys`` names
it, and ``keymap`` maps it to actions. Nothing here reads a clock, a file or a terminal.
"""
