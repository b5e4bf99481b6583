"""The agent as a library: store, prompt, hooks."""
