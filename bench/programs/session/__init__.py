"""What sessions cost: programs that make a session file, work with it and tell their CPU time."""
