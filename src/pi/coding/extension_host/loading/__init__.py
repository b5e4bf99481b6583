"""Loads and unloads extensions."""
