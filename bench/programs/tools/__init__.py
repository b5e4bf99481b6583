"""Programs that use the tools that change files: edits in each variant, archives, rows."""
