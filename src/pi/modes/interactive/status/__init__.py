"""What goes on: the activity in the editor's border, the footer, the title of the window.

Knows nothing of the transcript or of the composer.
"""
