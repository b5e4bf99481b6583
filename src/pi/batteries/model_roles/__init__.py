"""Model roles: ``@smol``, ``@slow``, ``@plan`` and others name models by the kind of work."""
