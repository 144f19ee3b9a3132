"""A cloud of Node objects without machines."""
