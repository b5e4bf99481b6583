"""Plan mode: the model reads and plans, and changes nothing before the user approves the plan."""
