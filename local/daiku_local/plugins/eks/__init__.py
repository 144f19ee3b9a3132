"""The stand-in for the Pulumi plugin `eks`: its `Cluster`, constructed from `aws` resources."""
