"""Tools: their definition, schemas, and how arguments are fitted to them."""
