"""Adapters of the timebox, one module per program. They import the core, not each other."""
