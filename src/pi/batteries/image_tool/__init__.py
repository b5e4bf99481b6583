"""``generate_image``: the model makes or edits a picture, which is shown and saved as a file."""
