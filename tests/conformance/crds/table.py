"""What the API server must take and refuse of the CRDs: changes to a valid object, by name.

A change is merged into the valid object (None removes a field). Run against the real kube-apiserver by
tests/world/test_crds.py, so the tables themselves are proven.
"""

import copy
from typing import Any

Json = dict[str, Any]

NODE_POOL: Json = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {
            "spec": {
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
                    {
                        "key": "karpenter.k8s.aws/instance-generation",
                        "operator": "Gt",
                        "values": ["2"],
                    },
                ],
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws",
                    "kind": "EC2NodeClass",
                    "name": "default",
                },
                "expireAfter": "720h",
            }
        },
        "limits": {"cpu": 1000},
        "disruption": {
            "consolidationPolicy": "WhenEmptyOrUnderutilized",
            "consolidateAfter": "1m",
        },
    },
}
NODE_CLASS: Json = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default"},
    "spec": {
        "role": "KarpenterNodeRole-demo",
        "amiSelectorTerms": [{"alias": "al2023@v20240807"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}],
    },
}
NODE_CLAIM: Json = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "default-x7k2p"},
    "spec": {
        "requirements": [
            {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["default"]},
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]},
        ],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi", "pods": "3"}},
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    },
}


def merged(valid: Json, change: Json) -> Json:
    """RFC 7386: what a merge patch does."""
    made = copy.deepcopy(valid)
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict) and isinstance(made.get(key), dict):
            made[key] = merged(made[key], value)
        else:
            made[key] = value
    return made


def template(**spec: Any) -> Json:
    return {"spec": {"template": {"spec": spec}}}


def requirement(key: str, operator: str, *values: str, **more: Any) -> Json:
    return {
        "key": key,
        "operator": operator,
        **({"values": list(values)} if values else {}),
        **more,
    }


def requires(*requirements: Json) -> Json:
    return template(requirements=list(requirements))


def budgets(*entries: Json) -> Json:
    return {"spec": {"disruption": {"budgets": list(entries)}}}


def labelled(key: str, value: str = "x") -> Json:
    return {"spec": {"template": {"metadata": {"labels": {key: value}}}}}


def images(*terms: Json, **spec: Any) -> Json:
    return {"spec": {"amiSelectorTerms": list(terms), **spec}}


NIGHT: Json = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}
DISK: Json = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi", "volumeType": "gp3"}}

ACCEPTED: dict[str, tuple[Json, Json]] = {
    "the NodePool of the getting-started page": (NODE_POOL, {}),
    "the EC2NodeClass of the getting-started page": (NODE_CLASS, {}),
    "a NodeClaim": (NODE_CLAIM, {}),
    "consolidation can be turned off": (NODE_POOL, {"spec": {"disruption": {"consolidateAfter": "Never"}}}),
    "a node may live for ever": (NODE_POOL, template(expireAfter="Never")),
    "a budget may hold by night": (NODE_POOL, budgets({"nodes": "10%"}, NIGHT)),
    "a budget may name its reasons": (NODE_POOL, budgets({"nodes": "3", "reasons": ["Drifted", "Empty"]})),
    "a budget may use a cron macro": (NODE_POOL, budgets({"nodes": "0", "schedule": "@daily", "duration": "10m"})),
    "a weight of 100": (NODE_POOL, {"spec": {"weight": 100}}),
    "a grace period": (NODE_POOL, template(terminationGracePeriod="48h")),
    "minValues with enough values": (
        NODE_POOL,
        requires(requirement("karpenter.k8s.aws/instance-family", "In", "m5", "c5", minValues=2)),
    ),
    "minValues with Exists": (
        NODE_POOL,
        requires(requirement("karpenter.k8s.aws/instance-family", "Exists", minValues=5)),
    ),
    "Gte and Lte": (
        NODE_POOL,
        requires(
            requirement("karpenter.k8s.aws/instance-cpu", "Gte", "4"),
            requirement("karpenter.k8s.aws/instance-cpu", "Lte", "32"),
        ),
    ),
    "one of several capacity types need be known": (
        NODE_POOL,
        requires(requirement("karpenter.sh/capacity-type", "In", "spot", "preemptible")),
    ),
    "labels of the user's own domain": (NODE_POOL, labelled("example.com/team", "payments")),
    "a domain that only ends like karpenter.sh": (NODE_POOL, labelled("notkarpenter.sh/team")),
    "a taint without a value": (NODE_POOL, template(taints=[{"key": "example.com/gpu", "effect": "NoSchedule"}])),
    "a static pool with a limit of nodes": (NODE_POOL, {"spec": {"replicas": 3, "limits": {"cpu": None, "nodes": 5}}}),
    "al2023@latest": (NODE_CLASS, images({"alias": "al2023@latest"})),
    "bottlerocket with a version": (NODE_CLASS, images({"alias": "bottlerocket@v1.20.3"})),
    "windows2022@latest": (NODE_CLASS, images({"alias": "windows2022@latest"})),
    "an alias with its family": (NODE_CLASS, images({"alias": "al2023@latest"}, amiFamily="AL2023")),
    "an alias with family Custom": (NODE_CLASS, images({"alias": "al2023@latest"}, amiFamily="Custom")),
    "images by id and by name": (
        NODE_CLASS,
        images({"id": "ami-123"}, {"name": "mine-*", "owner": "self"}, amiFamily="AL2023"),
    ),
    "an instance profile instead of a role": (
        NODE_CLASS,
        {"spec": {"role": None, "instanceProfile": "nodes"}},
    ),
    "subnets and groups by id": (
        NODE_CLASS,
        {
            "spec": {
                "subnetSelectorTerms": [{"id": "subnet-1"}, {"tags": {"a": "*"}}],
                "securityGroupSelectorTerms": [{"id": "sg-1"}, {"name": "nodes"}],
            }
        },
    ),
    "a disk": (NODE_CLASS, {"spec": {"blockDeviceMappings": [DISK]}}),
    "kubelet settings": (
        NODE_CLASS,
        {"spec": {"kubelet": {"maxPods": 50, "evictionHard": {"memory.available": "5%"}}}},
    ),
    "one field of the metadata options": (
        NODE_CLASS,
        {"spec": {"metadataOptions": {"httpPutResponseHopLimit": 2}}},
    ),
}  # fmt: skip

REJECTED: dict[str, tuple[Json, Json, str]] = {
    "a NodePool without requirements": (NODE_POOL, template(requirements=None), "requirements"),
    "a reference without a name": (
        NODE_POOL,
        template(nodeClassRef={"name": ""}),
        "name may not be empty",
    ),
    "In without values": (
        NODE_POOL,
        requires(requirement("a", "In")),
        "'In' must have a value defined",
    ),
    "Gt with two values": (
        NODE_POOL,
        requires(requirement("a", "Gt", "1", "2")),
        "single positive integer",
    ),
    "Lt of a word": (
        NODE_POOL,
        requires(requirement("a", "Lt", "many")),
        "single positive integer",
    ),
    "Gt of a negative number": (
        NODE_POOL,
        requires(requirement("a", "Gt", "-1")),
        "values",
    ),
    "an operator in lower case": (NODE_POOL, requires(requirement("a", "in", "b")), "operator"),
    "minValues beyond the values": (
        NODE_POOL,
        requires(requirement("a", "In", "b", minValues=2)),
        "at least that many values",
    ),
    "minValues of 51": (NODE_POOL, requires(requirement("a", "Exists", minValues=51)), "minValues"),
    "an unknown capacity type alone": (
        NODE_POOL,
        requires(requirement("karpenter.sh/capacity-type", "In", "ondemand")),
        "capacity-type",
    ),
    "an unknown label of karpenter.k8s.aws": (
        NODE_POOL,
        requires(requirement("karpenter.k8s.aws/instance-famly", "In", "m5")),
        'label domain "karpenter.k8s.aws" is restricted',
    ),
    "a requirement on the hostname": (
        NODE_POOL,
        requires(requirement("kubernetes.io/hostname", "In", "x")),
        'label "kubernetes.io/hostname" is restricted',
    ),
    "a requirement on the nodepool": (
        NODE_POOL,
        requires(requirement("karpenter.sh/nodepool", "In", "x")),
        'label "karpenter.sh/nodepool" is restricted',
    ),
    "a label of karpenter.sh": (
        NODE_POOL,
        labelled("karpenter.sh/initialized"),
        'label domain "karpenter.sh" is restricted',
    ),
    "a label of a subdomain of karpenter.sh": (
        NODE_POOL,
        labelled("x.karpenter.sh/team"),
        'label domain "karpenter.sh" is restricted',
    ),
    "the hostname as a label": (NODE_POOL, labelled("kubernetes.io/hostname"), "is restricted"),
    "a label value with a space": (NODE_POOL, labelled("team", "a b"), "labels"),
    "a taint without an effect": (
        NODE_POOL,
        template(taints=[{"key": "a"}]),
        "effect",
    ),
    "a taint of an unknown effect": (
        NODE_POOL,
        template(taints=[{"key": "a", "effect": "NoRun"}]),
        "effect",
    ),
    "a negative consolidateAfter": (
        NODE_POOL,
        {"spec": {"disruption": {"consolidateAfter": "-1s"}}},
        "consolidateAfter",
    ),
    "a consolidation policy that is misspelt": (
        NODE_POOL,
        {"spec": {"disruption": {"consolidationPolicy": "WhenUnderutilized"}}},
        "consolidationPolicy",
    ),
    "a budget of more than 100%": (NODE_POOL, budgets({"nodes": "101%"}), "nodes"),
    "a negative budget": (NODE_POOL, budgets({"nodes": "-10"}), "nodes"),
    "a schedule without a duration": (
        NODE_POOL,
        budgets({"nodes": "0", "schedule": "@daily"}),
        "'schedule' must be set with 'duration'",
    ),
    "a duration in seconds": (
        NODE_POOL,
        budgets({"nodes": "0", "schedule": "@daily", "duration": "30s"}),
        "duration",
    ),
    "an unknown reason": (NODE_POOL, budgets({"nodes": "1", "reasons": ["CloudDrift"]}), "reasons"),
    "a weight of 0": (NODE_POOL, {"spec": {"weight": 0}}, "weight"),
    "a weight of 101": (NODE_POOL, {"spec": {"weight": 101}}, "weight"),
    "a grace period of Never": (
        NODE_POOL,
        template(terminationGracePeriod="Never"),
        "terminationGracePeriod",
    ),
    "a static pool with a cpu limit": (
        NODE_POOL,
        {"spec": {"replicas": 3}},
        "only 'limits.nodes' is supported",
    ),
    "a limit that is no quantity": (NODE_POOL, {"spec": {"limits": {"cpu": "ten"}}}, "limits"),
    "both role and instance profile": (
        NODE_CLASS,
        {"spec": {"instanceProfile": "nodes"}},
        "exactly one of",
    ),
    "neither role nor instance profile": (NODE_CLASS, {"spec": {"role": None}}, "exactly one of"),
    "an empty role": (NODE_CLASS, {"spec": {"role": ""}}, "role cannot be empty"),
    "no subnet terms": (
        NODE_CLASS,
        {"spec": {"subnetSelectorTerms": []}},
        "subnetSelectorTerms cannot be empty",
    ),
    "a subnet term of nothing": (
        NODE_CLASS,
        {"spec": {"subnetSelectorTerms": [{}]}},
        "expected at least one",
    ),
    "a subnet term of id and tags": (
        NODE_CLASS,
        {"spec": {"subnetSelectorTerms": [{"id": "subnet-1", "tags": {"a": "b"}}]}},
        "mutually exclusive",
    ),
    "a tag without a value in a term": (
        NODE_CLASS,
        {"spec": {"subnetSelectorTerms": [{"tags": {"a": ""}}]}},
        "empty tag keys or values",
    ),
    "a group term of name and id": (
        NODE_CLASS,
        {"spec": {"securityGroupSelectorTerms": [{"id": "sg-1", "name": "nodes"}]}},
        "mutually exclusive",
    ),
    "an image term of id and tags": (
        NODE_CLASS,
        images({"id": "ami-1", "tags": {"a": "b"}}, amiFamily="AL2023"),
        "mutually exclusive",
    ),
    "an alias among other terms": (
        NODE_CLASS,
        images({"alias": "al2023@latest"}, {"id": "ami-1"}),
        "mutually exclusive",
    ),
    "images by id without a family": (
        NODE_CLASS,
        images({"id": "ami-1"}),
        "must specify amiFamily",
    ),
    "a family that is not the alias's": (
        NODE_CLASS,
        images({"alias": "al2023@latest"}, amiFamily="Bottlerocket"),
        "amiFamily must be the family of the alias",
    ),
    "an alias without a version": (NODE_CLASS, images({"alias": "al2023"}), "improperly formatted"),
    "an alias with a colon": (
        NODE_CLASS,
        images({"alias": "al2023:latest"}),
        "improperly formatted",
    ),
    "an alias of an unknown family": (
        NODE_CLASS,
        images({"alias": "ubuntu@latest"}),
        "family is not supported",
    ),
    "a pinned Windows": (
        NODE_CLASS,
        images({"alias": "windows2022@v1.0.0"}),
        "windows families may only specify",
    ),
    "a tag that says who owns the machine": (
        NODE_CLASS,
        {"spec": {"tags": {"karpenter.sh/nodepool": "x"}}},
        "restricted tag",
    ),
    "a tag of a cluster": (
        NODE_CLASS,
        {"spec": {"tags": {"kubernetes.io/cluster/demo": "owned"}}},
        "restricted tag",
    ),
    "a hop limit of 65": (
        NODE_CLASS,
        {"spec": {"metadataOptions": {"httpPutResponseHopLimit": 65}}},
        "httpPutResponseHopLimit",
    ),
    "two root volumes": (
        NODE_CLASS,
        {"spec": {"blockDeviceMappings": [DISK | {"rootVolume": True}] * 2}},
        "only one blockDeviceMappings with rootVolume",
    ),
    "a disk without a size": (
        NODE_CLASS,
        {"spec": {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {}}]}},
        "snapshotID or volumeSize must be defined",
    ),
    "a disk of 65 T": (
        NODE_CLASS,
        {"spec": {"blockDeviceMappings": [{"ebs": {"volumeSize": "65T"}}]}},
        "volumeSize",
    ),
    "a NodeClaim without a class": (
        NODE_CLAIM,
        {"spec": {"nodeClassRef": None}},
        "nodeClassRef",
    ),
}
"""Name -> valid object, change, and what the refusal must speak of."""
