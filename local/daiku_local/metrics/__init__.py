"""The API metrics.k8s.io of a laptop world, and the front door through which load comes in.

Fake pods use no processor, so a HorizontalPodAutoscaler would have nothing to look at. Here every request to the
front door costs the pods behind a Service processor time (`traffic`), each pod's part of it is its usage (`usage`),
and the API server asks for that as it asks metrics-server: through its aggregation layer (`api`, `registration`).
"""
