"""Programs that import the web batteries and convert pages."""
