"""Imports extensions and puts stand-ins in place of deferred ones."""
