"""The solver against a solver that tries every plan there is, for a handful of pods that are spread or keep apart."""

from dataclasses import dataclass
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests import build
from tests.plans import Small
from tests.reference import cheapest

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm, Spread

SEARCH = settings(deadline=None, max_examples=50, derandomize=True, phases=[Phase.generate])
ZONES = ("zone-a", "zone-b")
NODE = 2.1
"""What the dearest node costs: a plan fills nodes that are there in a fixed order, which may cost one node more."""


@dataclass(frozen=True)
class Group:
    """Pods of one app."""

    app: str
    pods: int
    cpu: str
    spread: tuple[str, ...]
    apart: tuple[str, ...]
    zone: str = ""

    def shape(self) -> dict[str, Any]:
        own = build.needs(build.require("app", "In", self.app))
        return {
            "labels": {"app": self.app},
            "memory": "64Mi",
            "spread": tuple(
                Spread(key=k, max_skew=1, hard=True, selector=own) for k in self.spread
            ),
            "pod_anti_affinity": tuple(
                AffinityTerm(key=k, selector=own, namespaces=("default",)) for k in self.apart
            ),
            "node_selector": {labels.ZONE: self.zone} if self.zone else {},
        }

    def waiting(self) -> list[Pod]:
        return build.pods(self.pods, self.app, cpu=self.cpu, **self.shape())


@st.composite
def groups(draw: st.DrawFn, app: str, most: int) -> Group:
    return Group(
        app=app,
        pods=draw(st.integers(1, most)),
        cpu=draw(st.sampled_from(["300m", "700m", "1100m"])),
        spread=draw(st.sampled_from([(), (labels.ZONE,), (labels.ZONE,)])),
        apart=draw(st.sampled_from([(), (), (labels.HOSTNAME,), (labels.ZONE,)])),
        zone=draw(st.sampled_from(["", "", "", "zone-b"])),
    )


@st.composite
def worlds(draw: st.DrawFn) -> Small:
    both = [draw(groups("web", 3)), draw(groups("api", 2))]
    nodes = [
        build.node(
            f"node-{zone}",
            provider_id=f"node-{zone}",
            cpu=draw(st.sampled_from(["500m", "1", "2"])),
            labels_of={labels.ZONE: zone},
        )
        for zone in draw(st.sampled_from([(), ZONES[:1], ZONES]))
    ]
    running = [
        build.pod(
            f"old-{n}",
            node=node.meta.name,
            **{**draw(st.sampled_from(both)).shape(), "cpu": "100m"},
        )
        for n, node in enumerate(nodes)
        if draw(st.booleans())
    ]
    zones = draw(
        st.sampled_from([build.needs(), build.needs(build.require(labels.ZONE, "In", "zone-b"))])
    )
    types = [
        build.instance_type(f"t-{size}x", cpu=str(size), zones=ZONES, price=price)
        for size, price in ((1, 1.0), (2, draw(st.sampled_from([1.5, 1.9, 2.1]))))
    ]
    return Small(
        pods=[pod for group in both for pod in group.waiting()],
        there=[*nodes, *running],
        pools=[build.node_pool(requirements=zones)],
        types=types,
    )


@SEARCH
@given(worlds())
def test_a_plan_is_never_cheaper_than_the_cheapest_and_not_much_dearer(small: Small) -> None:
    solved = small.solve()
    least = cheapest.cheapest(small.pods, small.snapshot(), build.catalogue(*small.types))

    assert (not solved.unschedulable) is (least is not None)
    if least is not None:
        assert least - 1e-9 <= solved.usd_per_hour <= least + NODE + 1e-9
        assert solved.lower_bound_usd_per_hour <= solved.usd_per_hour + 1e-9
