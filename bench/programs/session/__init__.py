"""What sessions cost: programs that make a session file, work with it and print their CPU time."""
