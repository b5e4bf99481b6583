"""Memory: notes of a project and of the user, as Markdown files that the user can read and edit.

Notes are written only by the tool ``remember`` and by ``/remember``. ``notes`` reads and writes the
files, ``search`` finds them, ``adapter`` connects both to a session.
"""
