"""A real Kubernetes control plane of plain processes: etcd, kube-apiserver, its controllers, kwok.

`certificates` and `kubeconfigs` make what they trust, `ports` says where they listen, `commands` how
each is run, `probes` when each is ready. Starting them in order is the work of `daiku_local.up`.
"""
