"""The wire: from bytes of the API server to values, and from commands to bodies."""
