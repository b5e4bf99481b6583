"""What a budget is, what its words mean and what it comes to. It knows no host."""
