"""Pictures of the terminal application for the documentation, from real runs."""
