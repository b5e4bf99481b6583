"""Pictures in a terminal: their sizes, the three protocols, and how many stay on the screen.

Everything writes strings; only ``graphics`` talks to a terminal, through a function it is given.
"""
