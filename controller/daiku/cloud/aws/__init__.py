"""EC2 as a cloud: everything that calls AWS lies here."""
