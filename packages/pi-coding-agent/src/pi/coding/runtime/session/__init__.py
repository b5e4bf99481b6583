"""The parts of a running session."""
