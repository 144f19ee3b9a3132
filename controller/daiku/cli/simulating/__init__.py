"""What `daiku simulate` reads and writes; the simulation itself is `daiku.simulation`."""
