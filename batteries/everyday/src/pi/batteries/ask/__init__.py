"""The ``ask`` tool: the model asks the user, with options to choose from."""
