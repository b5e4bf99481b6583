"""The members of ``ExtensionAPI``, a class for each subject; each hands over to a part."""
