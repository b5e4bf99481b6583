def slug(text):
    return text.replace(" ", "_")
