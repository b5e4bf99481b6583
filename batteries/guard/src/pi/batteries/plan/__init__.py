"""Plan mode: the model can only read and plan until the user approves the plan."""
