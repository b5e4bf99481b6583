"""Hosts of the timebox, one module each. They know the core, and not each other."""
