"""Model records: limits, prices, compat flags; the catalog and models.json."""
