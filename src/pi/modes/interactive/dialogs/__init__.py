"""Questions to the person, each a function to await: ``model = await pick_model(ui)``.

What a dialog lists and how it filters is pure and stands beside the component that shows it. A
dialog reaches the session and the screen through ``Ui``; it knows neither
the transcript nor the composer.
"""
