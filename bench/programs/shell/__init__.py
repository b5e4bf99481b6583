"""Programs that call the bash tool of a session, with and without the shell session."""
