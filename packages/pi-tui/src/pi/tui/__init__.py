"""Terminal user interface: components, an append-only screen, input, overlays, widgets.

The package is independent of agents, models and sessions; any terminal program can use it.
Components return rows and ``TUI`` writes them to the screen. Rows that have entered the terminal's
scrollback are never changed.

Importing the package loads nothing. Import the module that you need, e.g. ``from pi.tui.tui import
TUI``.
"""
