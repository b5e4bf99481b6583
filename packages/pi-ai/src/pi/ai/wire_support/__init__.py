"""Shared parts of the wires: exchange, server-sent events, history, repairs, tool schemas."""
