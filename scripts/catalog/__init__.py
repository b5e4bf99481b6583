"""Makes the bundled model catalog: ``python -m scripts.catalog.generate``."""
