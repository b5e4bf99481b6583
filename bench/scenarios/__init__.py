"""The scenarios, one module per area. A row here and its name in ``catalog`` is all it takes."""
