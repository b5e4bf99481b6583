"""The events that extensions receive, and how handlers are called."""
