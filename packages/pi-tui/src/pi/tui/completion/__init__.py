"""Completion of the text before the cursor.

Providers receive a text and a position in it. They are independent of editors and screens, and read
files only through functions that are passed in.
"""
