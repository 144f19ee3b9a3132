"""The demo: Daiku's whole promise on one laptop, timed, and checked from outside."""
