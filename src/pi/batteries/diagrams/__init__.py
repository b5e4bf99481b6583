"""Draws mermaid code of answers as diagrams.

``views`` draws; it is imported with the first such code, without loading ``adapter``.
"""
