"""What an EC2 machine and its kubelet do, played on a laptop.

The laptop's AWS runs no machines and its cluster no kubelets, so nobody turns an instance into a
Node and nobody runs the controller's pod. This package does both and nothing else: *boot* makes
the Node that an instance's user data describes, *workloads* runs pods of local images as
processes. kwok plays the kubelet for every other pod.

Pure: user_data, quantities, instance_types, kubelet, node, pods, environment, status, probes.
At the edge: aws_api, kubernetes_api, boot, tokens, addresses, child, process_pod, workloads.
"""
