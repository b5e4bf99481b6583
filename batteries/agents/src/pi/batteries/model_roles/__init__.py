"""Model roles: names such as ``@smol``, ``@slow`` and ``@plan`` for models, by kind of work."""
