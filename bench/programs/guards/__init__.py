"""Programs that call tools in a session with guards."""
