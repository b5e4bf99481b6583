"""Sub-agents: the ``task`` tool, the agents that work for it, and ``/agents``.

``definitions``, ``requests`` and ``results`` parse agents and calls, and write results. ``nodes``
has the state of the agents; ``work`` runs them, with model, tools and prompt from ``launching``, in
a session or process of ``runners``. ``submitting`` is the child's side, ``isolation`` its working
copy. ``tools`` has the tools and commands, ``adapter`` registers them, ``views`` draws.
"""
