"""The API server: six verbs, watches, the Lease, Events and evictions."""
