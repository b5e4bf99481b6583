"""Draws mermaid code of answers as diagrams.

``views`` draws them. It is imported with the first diagram, without loading ``adapter``.
"""
