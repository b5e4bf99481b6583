"""The Python kernel: cells of the model and of the user in one process that keeps its state.

``config`` has the settings and finds the interpreter, ``kernel`` owns the process, ``runner`` is
that process, ``adapter`` connects them with pi, and ``views`` draws cells.
"""
