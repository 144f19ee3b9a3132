"""Stand-ins for the Pulumi provider plugins `aws`, `kubernetes` and `eks`, for the laptop world only.

A laptop without a cloud account has no use for the real plugins, and the Pulumi engine needs some
plugin for every package that a program imports. These answer the same resource types with the same
properties: `aws` from the world's AWS over HTTP, `kubernetes` from the world's API server, `eks` by
constructing the component from `aws` resources. What they do not know they refuse by name.

The engine, the language host, the program and the SDKs are the real ones. Nothing here may ever
reach a real account: see `aws.cloud`.
"""
