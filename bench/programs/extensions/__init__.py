"""Programs that are measured with many extensions."""
