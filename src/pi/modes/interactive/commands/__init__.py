"""What is typed behind a slash: a table of commands, and what each of them does.

A command asks through dialogs, acts through the session's port and tells through the screen.
"""
