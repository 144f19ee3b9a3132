"""The nodes of a cluster as a person looks at them: how full, how dear, how far along."""
