"""Memory: notes of a project and of the user, as Markdown files that the user can read and edit.

Notes are written only by the tool ``remember`` and by ``/remember``. ``adapter`` has the files and
connects them to a session.
"""
