"""What sub-agents cost."""
