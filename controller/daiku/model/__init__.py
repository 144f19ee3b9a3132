"""Values: what the cluster and the cloud consist of. No I/O, no clock, no arrays."""
