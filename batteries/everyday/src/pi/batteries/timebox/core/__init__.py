"""Budgets: parsing, limits, stored records and effects. Pure."""
