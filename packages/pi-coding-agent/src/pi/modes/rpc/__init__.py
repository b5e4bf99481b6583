"""``--mode rpc``: JSON lines as commands, responses and events."""
