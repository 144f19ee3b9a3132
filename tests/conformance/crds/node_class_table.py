"""What the API server must take and refuse of an EC2NodeClass, field by field.

Source of each row: the CRD of karpenter.k8s.aws/v1 and the cases of its validation; the words are ours. A change is
merged into the valid object of `table`.
"""

from typing import Any

from tests.conformance.crds.table import NODE_CLASS, Json, images


def spec(**fields: Any) -> Json:
    return {"spec": fields}


def ebs(**fields: Any) -> Json:
    return spec(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": fields}])


def interface(card: int = 0, device: int = 0, kind: str = "interface") -> Json:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": kind}


MANY_TAGS = {f"key-{number}": "x" for number in range(21)}

_ACCEPTED: dict[str, Json] = {
    **{
        f"the alias {alias}": images({"alias": alias})
        for alias in (
            "al2@latest", "al2@v20240807", "al2023@v20240807", "bottlerocket@latest", "bottlerocket@v1.20.3",
            "windows2019@latest", "windows2022@latest", "windows2025@latest",
        )
    },
    **{
        f"the family {family}": images({"id": "ami-123"}, amiFamily=family)
        for family in ("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")
    },
    "images by parameter": images({"ssmParameter": "/mine"}, amiFamily="AL2023"),
    "images by tags of an owner": images({"tags": {"a": "*"}, "owner": "self"}, amiFamily="AL2023"),
    "20 tags in a term": images({"tags": dict(list(MANY_TAGS.items())[:20])}, amiFamily="AL2023"),
    "a term of id and tags beside one that is right": spec(
        subnetSelectorTerms=[{"id": "subnet-1", "tags": {"a": "b"}}, {"id": "subnet-2"}]
    ),
    "a group term of name and id beside one that is right": spec(
        securityGroupSelectorTerms=[{"id": "sg-1", "name": "nodes"}, {"id": "sg-2"}]
    ),
    "reservations by id, tags and criteria": spec(
        capacityReservationSelectorTerms=[
            {"id": "cr-12345"},
            {"tags": {"a": "b"}, "ownerID": "012345678901"},
            {"instanceMatchCriteria": "open"},
            {"instanceMatchCriteria": "targeted", "ownerID": "012345678901"},
        ]
    ),
    "a placement group by name": spec(placementGroupSelector={"name": "together"}),
    "a placement group by id": spec(placementGroupSelector={"id": "pg-123"}),
    "no prefixes": spec(ipPrefixCount=0),
    "a public address": spec(associatePublicIPAddress=True),
    "tags of the user's": spec(tags={"team": "payments", "empty": ""}),
    **{f"a volume of {size}": ebs(volumeSize=size) for size in ("1Gi", "59000Gi", "64000G", "58Ti", "64T", "1T")},
    **{f"a volume of type {kind}": ebs(volumeSize="1Gi", volumeType=kind) for kind in
       ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")},
    "a snapshot without a size": ebs(snapshotID="snap-1"),
    "a snapshot that is initialized fast": ebs(snapshotID="snap-1", volumeInitializationRate=300),
    "everything of a volume": ebs(
        volumeSize="10Gi", iops=3000, throughput=125, kmsKeyID="key", encrypted=True, deleteOnTermination=False
    ),
    "local disks as one": spec(instanceStorePolicy="RAID0"),
    "one interface": spec(networkInterfaces=[interface()]),
    "an EFA beside an interface": spec(networkInterfaces=[interface(), interface(0, 1, "efa-only")]),
    "an EFA on each card": spec(
        networkInterfaces=[interface(), interface(0, 1, "efa-only"), interface(1, 0, "efa-only")]
    ),
    "a hop limit of 64": spec(metadataOptions={"httpPutResponseHopLimit": 64}),
    "tokens that are optional": spec(metadataOptions={"httpTokens": "optional"}),
    "shortest timeouts": spec(
        connectionTracking={"tcpEstablishedTimeout": 60, "udpStreamTimeout": 60, "udpTimeout": 30}
    ),
    "longest timeouts": spec(
        connectionTracking={"tcpEstablishedTimeout": 432000, "udpStreamTimeout": 180, "udpTimeout": 60}
    ),
    "nested virtualization": spec(cpuOptions={"nestedVirtualization": "enabled"}),
    "monitoring and a context": spec(detailedMonitoring=True, context="fleet-context"),
    "a kubelet setting that nobody knows": spec(kubelet={"noSuchThing": {"deep": 1}}),
    "a kubelet setting that makes no sense": spec(kubelet={"maxPods": -5, "registerWithTaints": []}),
    "maxPods as an expression": spec(kubelet={"maxPods": "vcpus * 10"}),
}  # fmt: skip

_REJECTED: dict[str, tuple[Json, str]] = {
    **{
        f"the alias {alias!r}": (images({"alias": alias}), words)
        for alias, words in (
            ("al2023", "improperly"), ("@latest", "improperly formatted"), ("al2023@", "improperly formatted"),
            ("al2023:latest", "improperly formatted"), ("ubuntu@latest", "family is not supported"),
            ("AL2023@latest", "family is not supported"), ("windows2019@v1.0.0", "windows families"),
            ("windows2025@v1.0.0", "windows families"), ("al2023@" + "v" * 24, "alias"),
        )
    },
    "the family Ubuntu": (images({"id": "ami-123"}, amiFamily="Ubuntu"), "amiFamily"),
    "a parameter without a family": (images({"ssmParameter": "/mine"}), "must specify amiFamily"),
    "no image terms": (spec(amiSelectorTerms=[]), "amiSelectorTerms"),
    "missing image terms": (spec(amiSelectorTerms=None), "amiSelectorTerms"),
    "an image term of nothing": (images({}, amiFamily="AL2023"), "expected at least one"),
    "an image term of an owner alone": (images({"owner": "self"}, amiFamily="AL2023"), "expected at least one"),
    "a last image term of nothing": (images({"id": "ami-1"}, {}, amiFamily="AL2023"), "expected at least one"),
    "an empty key in an image term": (images({"tags": {"": "b"}}, amiFamily="AL2023"), "empty tag keys"),
    "an empty value in an image term": (images({"tags": {"a": ""}}, amiFamily="AL2023"), "empty tag keys"),
    "21 tags in a term": (images({"tags": MANY_TAGS}, amiFamily="AL2023"), "tags"),
    "an image id and a name": (images({"id": "ami-1", "name": "x"}, amiFamily="AL2023"), "mutually exclusive"),
    "an image id and an owner": (images({"id": "ami-1", "owner": "self"}, amiFamily="AL2023"), "mutually exclusive"),
    "an alias and a name": (images({"alias": "al2023@latest", "name": "x"}), "mutually exclusive"),
    "one of several image terms is mixed": (
        images({"id": "ami-1"}, {"id": "ami-2", "name": "x"}, amiFamily="AL2023"), "mutually exclusive",
    ),
    "an image id that is none": (images({"id": "i-123"}, amiFamily="AL2023"), "id"),
    "31 image terms": (images(*[{"id": f"ami-{n}"} for n in range(31)], amiFamily="AL2"), "amiSelectorTerms"),
    "missing subnet terms": (spec(subnetSelectorTerms=None), "subnetSelectorTerms"),
    "a last subnet term of nothing": (spec(subnetSelectorTerms=[{"id": "subnet-1"}, {}]), "expected at least one"),
    "an empty key in a subnet term": (spec(subnetSelectorTerms=[{"tags": {"": "b"}}]), "empty tag keys"),
    "a subnet id that is none": (spec(subnetSelectorTerms=[{"id": "sg-1"}]), "id"),
    "every subnet term is mixed": (
        spec(subnetSelectorTerms=[{"id": f"subnet-{n}", "tags": {"a": "b"}} for n in (1, 2)]), "mutually exclusive",
    ),
    "missing group terms": (spec(securityGroupSelectorTerms=None), "securityGroupSelectorTerms"),
    "no group terms": (spec(securityGroupSelectorTerms=[]), "cannot be empty"),
    "a group term of nothing": (spec(securityGroupSelectorTerms=[{}]), "expected at least one"),
    "a group term of name and tags": (
        spec(securityGroupSelectorTerms=[{"name": "nodes", "tags": {"a": "b"}}]), "mutually exclusive",
    ),
    "a group id that is none": (spec(securityGroupSelectorTerms=[{"id": "subnet-1"}]), "id"),
    "a reservation term of nothing": (spec(capacityReservationSelectorTerms=[{}]), "expected at least one"),
    "a reservation term of an owner alone": (
        spec(capacityReservationSelectorTerms=[{"ownerID": "012345678901"}]), "expected at least one",
    ),
    "a reservation id and an owner": (
        spec(capacityReservationSelectorTerms=[{"id": "cr-1", "ownerID": "012345678901"}]), "mutually exclusive",
    ),
    "a reservation id and criteria": (
        spec(capacityReservationSelectorTerms=[{"id": "cr-1", "instanceMatchCriteria": "open"}]), "mutually exclusive",
    ),
    "a short owner": (spec(capacityReservationSelectorTerms=[{"tags": {"a": "b"}, "ownerID": "1"}]), "ownerID"),
    "unknown criteria": (
        spec(capacityReservationSelectorTerms=[{"instanceMatchCriteria": "closed"}]), "instanceMatchCriteria",
    ),
    "a placement group by name and id": (spec(placementGroupSelector={"name": "a", "id": "pg-1"}), "exactly one of"),
    "a placement group by nothing": (spec(placementGroupSelector={}), "exactly one of"),
    "a placement group without a name": (spec(placementGroupSelector={"name": ""}), "name"),
    "a placement group id that is none": (spec(placementGroupSelector={"id": "x"}), "id"),
    "an empty profile": (spec(role=None, instanceProfile=""), "instanceProfile cannot be empty"),
    "a negative prefix count": (spec(ipPrefixCount=-1), "ipPrefixCount"),
    **{
        f"the tag {key!r}": (spec(tags={key: "x"}), words)
        for key, words in (
            ("", "empty tag keys"), ("eks:eks-cluster-name", "restricted tag"), ("kubernetes.io/cluster", "restricted"),
            ("karpenter.sh/nodeclaim", "restricted tag"), ("karpenter.k8s.aws/ec2nodeclass", "restricted tag"),
        )
    },
    **{
        f"a volume of {size!r}": (ebs(volumeSize=size), "volumeSize")
        for size in ("0Gi", "0.5Gi", "59001Gi", "64001G", "59Ti", "65T", "1Mi", "a lot", "", "-1Gi")
    },
    "a volume of an unknown type": (ebs(volumeSize="1Gi", volumeType="gp4"), "volumeType"),
    "slow initialization": (ebs(snapshotID="snap-1", volumeInitializationRate=99), "volumeInitializationRate"),
    "too fast initialization": (ebs(snapshotID="snap-1", volumeInitializationRate=301), "volumeInitializationRate"),
    "initialization of nothing": (ebs(volumeSize="1Gi", volumeInitializationRate=100), "snapshotID must be set"),
    "an unknown store policy": (spec(instanceStorePolicy="RAID1"), "instanceStorePolicy"),
    "interfaces without the first": (spec(networkInterfaces=[interface(1, 0)]), "networkCardIndex 0"),
    "a first interface that is an EFA": (spec(networkInterfaces=[interface(0, 0, "efa-only")]), "'interface'"),
    "an interface twice": (spec(networkInterfaces=[interface(), interface()]), "unique together"),
    "two EFAs on a card": (
        spec(networkInterfaces=[interface(), interface(0, 1, "efa-only"), interface(0, 2, "efa-only")]), "at most one",
    ),
    "an interface of an unknown type": (spec(networkInterfaces=[interface(kind="efa")]), "interfaceType"),
    "an interface without a card": (
        spec(networkInterfaces=[{"deviceIndex": 0, "interfaceType": "interface"}]), "networkCardIndex",
    ),
    "a negative card": (spec(networkInterfaces=[interface(), interface(-1, 0)]), "networkCardIndex"),
    "a hop limit of 0": (spec(metadataOptions={"httpPutResponseHopLimit": 0}), "httpPutResponseHopLimit"),
    "an unknown token policy": (spec(metadataOptions={"httpTokens": "never"}), "httpTokens"),
    "an unknown endpoint state": (spec(metadataOptions={"httpEndpoint": "on"}), "httpEndpoint"),
    "an unknown IPv6 state": (spec(metadataOptions={"httpProtocolIPv6": "on"}), "httpProtocolIPv6"),
    "tracking of nothing": (spec(connectionTracking={}), "connectionTracking"),
    **{
        f"{name} of {value}": (spec(connectionTracking={name: value}), name)
        for name, value in (
            ("tcpEstablishedTimeout", 59), ("tcpEstablishedTimeout", 432001), ("udpStreamTimeout", 59),
            ("udpStreamTimeout", 181), ("udpTimeout", 29), ("udpTimeout", 61),
        )
    },
    "unknown virtualization": (spec(cpuOptions={"nestedVirtualization": "on"}), "nestedVirtualization"),
}  # fmt: skip

ACCEPTED = {name: (NODE_CLASS, change) for name, change in _ACCEPTED.items()}
REJECTED = {name: (NODE_CLASS, change, words) for name, (change, words) in _REJECTED.items()}
