"""EC2: launching, the life of instances, instance types and what they cost, images, network guards.

moto keeps VPCs, subnets, groups, launch templates, volumes and the instances themselves. The modules here
decide what moto does not: which pool a fleet takes, what a launch template does to an instance,
when a state changes, what may be deleted.
"""
