"""What `daiku roll` reads and writes: an annotation on NodeClaims, which the controller takes for drift."""
