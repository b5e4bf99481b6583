"""Draw in a terminal: components, an append-only screen, input, overlays, widgets.

This folder knows nothing of agents, models or sessions; any terminal program can be built on it.
Components return lines, ``TUI`` puts them on the screen, and rows that have entered the
terminal's scrollback are never touched again.

Importing the package loads nothing: import the module that has what you need, e.g.
``from pi.tui.tui import TUI``.
"""
