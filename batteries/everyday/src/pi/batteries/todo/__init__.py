"""A task list that the model keeps with the ``todo`` tool and the user sees above the editor.

``state`` is pure; ``adapter`` connects it to a session; ``views`` draws it.
"""
