"""Events for extensions, and the calls of their handlers."""
