"""Programs that measure stream rules."""
