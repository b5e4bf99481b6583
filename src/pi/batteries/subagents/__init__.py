"""Sub-agents: the ``task`` tool, the agents that work for it, and ``/agents``.

``definitions`` and ``requests`` are pure. ``nodes`` holds the state of the agents, ``work`` runs
one, ``submitting`` is the child's side, ``isolation`` its working copy. ``adapter`` connects all
of it to a session, ``views`` draws.
"""
