"""Brackets."""
