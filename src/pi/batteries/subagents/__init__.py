"""Sub-agents: the ``task`` tool, the agents that work for it, and ``/agents``.

``definitions``, ``requests`` and ``results`` are pure. ``nodes`` holds the state of the agents,
``work`` runs one with ``runners``, which also has its transcript; ``submitting`` is the child's
side, ``isolation`` its working copy. ``tools`` has what the model and the user call; ``adapter``
connects all of it to a session, ``views`` draws.
"""
