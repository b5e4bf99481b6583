"""``generate_image``: generates or edits a picture, which is shown and saved as a file."""
