"""Where nodes come from: the door every cloud keeps, and the clouds."""
