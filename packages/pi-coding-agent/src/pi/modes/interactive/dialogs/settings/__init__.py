"""Every setting as a row of one table, and the dialog that edits them in place."""
