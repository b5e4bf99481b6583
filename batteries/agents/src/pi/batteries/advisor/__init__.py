"""A second model reviews the work of the first, and advises it."""
