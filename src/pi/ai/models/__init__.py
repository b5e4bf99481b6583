"""What models there are: their limits, prices and quirks. Knows no wire and no provider."""
