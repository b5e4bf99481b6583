"""The Python kernel: cells of the model and of the user in one process that keeps its state.

``config`` has the settings, ``kernel`` the queue of calls, ``process`` finds the interpreter and
talks to its process, ``runner`` is that process, ``adapter`` connects them with pi, and ``views``
draws cells.
"""
