"""Programs that measure the hiding of secrets."""
