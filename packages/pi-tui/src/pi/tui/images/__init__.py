"""Images in a terminal: sizes, three protocols, and a limit for visible images.

The functions return strings. Only ``graphics`` writes to a terminal, through a function that is
passed in.
"""
