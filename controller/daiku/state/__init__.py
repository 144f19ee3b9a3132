"""What is believed: events in, an immutable snapshot out."""
