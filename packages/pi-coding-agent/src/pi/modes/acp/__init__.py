"""``--mode acp``: the agent side of the Agent Client Protocol, for editors."""
