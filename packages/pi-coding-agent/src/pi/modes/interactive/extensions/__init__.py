"""The interface of extensions on this screen: dialogs, rows, keys, editors and views.

Everything is placed in slots of the layout; other regions do not import this one.
"""
