"""Kernels: Python and JavaScript cells of the model and the user, in processes that keep state.

``adapter`` registers the tools, ``config`` reads the settings, ``calls`` runs the cells of a call,
``cells`` collects their output, and ``views`` draws them. ``kernel`` has the queue of calls and the
pool. ``backends`` creates kernels: a process (``process``, which runs ``runner.py`` or
``runner.js``) or a kernel of a Jupyter gateway.
"""
