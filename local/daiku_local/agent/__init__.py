"""What an EC2 machine and its kubelet do, played on a laptop.

The laptop's AWS runs no machines and its cluster no kubelets, so nobody turns an instance into a
Node and nobody runs the controller's pod. This package does both and nothing else: *boot* makes
the Node that an instance's user data describes, *workloads* runs pods of local images as
processes. kwok plays the kubelet for every other pod.

Pure: objects, quantities; user_data, instance_types, kubelet, node; environment, pods, probes
(but for asking), status, container_life.
At the edge: kubernetes_api, aws_api, files, settings; boot; addresses, tokens, preparation, records,
child, probing, process_pod, workloads; supervisor, which starts and ends it all.
"""
