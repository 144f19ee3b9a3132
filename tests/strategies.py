"""Hypothesis strategies, made of build.py. Small pools of values, so that things collide."""

from hypothesis import strategies as st
from tests import build

from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirement import Requirement
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint, Toleration

VALUES = ["a", "b", "c", "1", "2", "3", "5", "-1", "007"]
KEYS = ["team", "tier", labels.ZONE, labels.ARCH]
ZONES = ["zone-a", "zone-b"]
TAINTS = [
    Taint("dedicated", "NoSchedule", "gpu"),
    Taint("soft", "PreferNoSchedule"),
    Taint("out", "NoExecute"),
]

quantities_cpu = st.sampled_from(["100m", "500m", "1", "1500m", "3", "9"])
quantities_memory = st.sampled_from(["128Mi", "1Gi", "3Gi", "10Gi"])


@st.composite
def requirement(draw: st.DrawFn, key: str = "key") -> Requirement:
    operator = draw(
        st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"])
    )
    if operator in {"Gt", "Lt", "Gte", "Lte"}:
        values = [draw(st.sampled_from(["0", "1", "2", "3", "5"]))]
    elif operator in {"In", "NotIn"}:
        values = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4))
    else:
        values = []
    min_values = draw(st.one_of(st.none(), st.integers(1, 3)))
    return Requirement.parse(key, operator, values, min_values)


def label_needs() -> st.SearchStrategy[Requirements]:
    one = st.one_of(
        st.builds(
            lambda z: build.require(labels.ZONE, "In", z), st.sampled_from([*ZONES, "zone-x"])
        ),
        st.builds(lambda z: build.require(labels.ZONE, "NotIn", z), st.sampled_from(ZONES)),
        st.builds(
            lambda a: build.require(labels.ARCH, "In", a), st.sampled_from(["amd64", "arm64"])
        ),
        st.builds(lambda v: build.require("team", "In", v), st.sampled_from(["x", "y"])),
        st.just(build.require("team", "Exists")),
        st.just(build.require("team", "DoesNotExist")),
        st.just(build.require("cpus", "Gt", "3")),
    )
    return st.lists(one, max_size=2).map(lambda chosen: Requirements.of(*chosen))


def tolerations() -> st.SearchStrategy[list[Toleration]]:
    return st.lists(
        st.sampled_from(
            [
                Toleration(operator="Exists"),
                Toleration(key="dedicated", value="gpu"),
                Toleration(key="out", operator="Exists"),
            ]
        ),
        max_size=1,
    )


@st.composite
def pods(draw: st.DrawFn, most: int = 12) -> list[Pod]:
    made: list[Pod] = []
    for group in range(draw(st.integers(1, 4))):
        shape = {
            "cpu": draw(quantities_cpu),
            "memory": draw(quantities_memory),
            "tolerations": draw(tolerations()),
            "required_node_affinity": tuple(draw(st.lists(label_needs(), max_size=2))),
            "node_selector": draw(
                st.sampled_from([{}, {}, {"team": "x"}, {labels.ZONE: "zone-a"}])
            ),
        }
        made += build.pods(draw(st.integers(1, most)), f"group{group}", **shape)
    return made


@st.composite
def instance_types(draw: st.DrawFn) -> list[InstanceType]:
    made: list[InstanceType] = []
    for size in draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=4, unique=True)):
        arch = draw(st.sampled_from(["amd64", "arm64"]))
        zones = draw(st.sampled_from([["zone-a"], ["zone-b"], ["zone-a", "zone-b"]]))
        made.append(
            build.instance_type(
                f"t-{size}x",
                cpu=str(size),
                memory=f"{size * draw(st.sampled_from([2, 4]))}Gi",
                arch=arch,
                zones=zones,
                overhead={"cpu": "80m"},
                extra_labels={"cpus": str(size)},
            )
        )
    return made


@st.composite
def node_pools(draw: st.DrawFn) -> list[NodePool]:
    return [
        build.node_pool(
            f"pool-{number}",
            weight=draw(st.sampled_from([0, 10])),
            taints=draw(st.lists(st.sampled_from(TAINTS), max_size=1)),
            template_labels=draw(st.sampled_from([{}, {"team": "x"}])),
            requirements=draw(label_needs()),
        )
        for number in range(draw(st.integers(0, 2)))
    ]


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    return [
        build.node(
            f"node-{number}",
            cpu=draw(st.sampled_from(["1", "2", "8"])),
            memory=draw(st.sampled_from(["2Gi", "16Gi"])),
            labels_of={
                labels.ZONE: draw(st.sampled_from(ZONES)),
                labels.ARCH: draw(st.sampled_from(["amd64", "arm64"])),
                **draw(st.sampled_from([{}, {"team": "y"}])),
            },
            taints=draw(st.lists(st.sampled_from(TAINTS), max_size=1)),
        )
        for number in range(draw(st.integers(0, 3)))
    ]
