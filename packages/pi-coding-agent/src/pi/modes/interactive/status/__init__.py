"""Status: the activity in the editor's border, the footer, the window title.

Does not import the transcript or the composer.
"""
