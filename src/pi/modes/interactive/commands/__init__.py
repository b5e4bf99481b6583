"""What is typed behind a slash: a table of commands, and what each of them does."""
