"""The cheapest new nodes for pods that need some: `pack.pack(demand) -> Packing`.

It knows nothing of Kubernetes: requests, masks, caps and prices come in as arrays (`demand`), nodes go out as indices.
"""
