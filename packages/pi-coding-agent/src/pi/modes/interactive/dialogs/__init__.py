"""Dialogs, each a function to await: ``model = await pick_model(ui)``.

Listing and filtering are pure functions next to the component that shows them. A dialog accesses
the session and the screen through ``Ui``; it does not import the transcript or the composer.
"""
