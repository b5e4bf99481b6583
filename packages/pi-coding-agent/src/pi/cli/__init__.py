"""The command line: parses flags and starts a subcommand or a mode."""
