"""NodePool and NodeClaim row by row: what the API server takes and refuses, and what only we can see.

Source: karpenter-core 7.1, nodepool_validation_cel, nodeclaim_validation_cel and nodepool_default. `table` has the rows
that a person meets first; here are the rest, so that the two together are the whole list.
"""

from typing import Any

from tests.conformance.crds.table import (
    NODE_CLAIM,
    NODE_POOL,
    Json,
    budgets,
    labelled,
    requirement,
    requires,
    template,
)

Rows = dict[str, tuple[Json, Json]]
Refusals = dict[str, tuple[Json, Json, str]]

LONG_NAME = "a" * 64
DURATIONS = {"one unit": "30s", "two units": "1h30m", "three units": "1h30m5s"}
NO_DURATIONS = {
    "negative": "-1s",
    "an unknown unit": "1d",
    "no unit": "30",
    "half a duration": "1h30",
}
OPERATORS = {
    "In": ("a",), "NotIn": ("a",), "Exists": (), "DoesNotExist": (), "Gt": ("1",), "Lt": ("1",),
    "Gte": ("1",), "Lte": ("1",),
}  # fmt: skip
NUMERIC = ("Gt", "Lt", "Gte", "Lte")
EXEMPT = (
    "kops.k8s.io/instancegroup", "kops.k8s.io/gpu", "node.kubernetes.io/example", "kubernetes.io/x",
    "subdomain.k8s.io/x", "topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.sh/capacity-type",
    "node.kubernetes.io/windows-build", "topology.kubernetes.io/region",
)  # fmt: skip
"""Keys of the domains of Kubernetes and its tools, all of them free."""
BAD_NAMES = ("test.com.com}", "Test.com.com/test", "test/test/test", "test/", "/test", "")
STATIC: Json = {"spec": {"replicas": 3, "limits": None}}


def disruption(**fields: Any) -> Json:
    return {"spec": {"disruption": fields}}


def static(**fields: Any) -> Json:
    return {"spec": {"replicas": 3, "limits": None, **fields}}


def taint(**fields: Any) -> Json:
    return {"key": "a", "effect": "NoSchedule", **fields}


def _accepted() -> Rows:
    rows: Rows = {}
    for name, text in DURATIONS.items():
        rows |= {
            f"consolidateAfter of {name}": (NODE_POOL, disruption(consolidateAfter=text)),
            f"expireAfter of {name}": (NODE_POOL, template(expireAfter=text)),
            f"terminationGracePeriod of {name}": (NODE_POOL, template(terminationGracePeriod=text)),
            f"a NodeClaim's expireAfter of {name}": (NODE_CLAIM, {"spec": {"expireAfter": text}}),
            f"a NodeClaim's terminationGracePeriod of {name}": (
                NODE_CLAIM, {"spec": {"terminationGracePeriod": text}},
            ),
        }  # fmt: skip
    for policy in ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"):
        for after in ("30s", "Never"):
            rows[f"policy {policy} after {after}"] = (
                NODE_POOL, disruption(consolidationPolicy=policy, consolidateAfter=after),
            )  # fmt: skip
    for operator, values in OPERATORS.items():
        asked = requirement("example.com/a", operator, *values)
        rows[f"operator {operator}"] = (NODE_POOL, requires(asked))
        rows[f"operator {operator} in a NodeClaim"] = (
            NODE_CLAIM,
            {"spec": {"requirements": [asked]}},
        )
    for key in EXEMPT:
        rows[f"a requirement on {key}"] = (NODE_POOL, requires(requirement(key, "Exists")))
        rows[f"label {key}"] = (NODE_POOL, labelled(key, "spot" if key.endswith("type") else "x"))
    for when in (
        "@annually",
        "@yearly",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "* * * * *",
    ):
        night = {"nodes": "1", "schedule": when, "duration": "1h30m"}
        rows[f"a budget of schedule {when}"] = (NODE_POOL, budgets(night))
    for reasons in (
        ["Drifted"],
        ["Underutilized"],
        ["Empty"],
        ["Drifted", "Empty", "Underutilized"],
    ):
        rows[f"a budget for {' and '.join(reasons)}"] = (
            NODE_POOL,
            budgets({"nodes": "1", "reasons": reasons}),
        )
    for replicas in (0, 1, 100_000):
        rows[f"{replicas} replicas"] = (NODE_POOL, static(replicas=replicas))
    return rows


_SINGLE: Rows = {
    "consolidateAfter may be left out": (NODE_POOL, disruption(consolidateAfter=None)),
    "a budget of hours": (NODE_POOL, budgets({"nodes": "1", "schedule": "@daily", "duration": "8h"})),
    "a budget of minutes and no seconds": (
        NODE_POOL, budgets({"nodes": "1", "schedule": "@daily", "duration": "20m0s"}),
    ),
    "a budget without times": (NODE_POOL, budgets({"nodes": "0%"})),
    "a budget of everything": (NODE_POOL, budgets({"nodes": "100%"})),
    "no requirements": (NODE_POOL, requires()),
    "requirements that overlap": (
        NODE_POOL, requires(requirement("a", "In", "x", "y"), requirement("a", "In", "y", "z")),
    ),
    "60 values without minValues": (
        NODE_POOL, requires(requirement("a", "In", *(f"v{i}" for i in range(60)))),
    ),
    "minValues of 50": (
        NODE_POOL, requires(requirement("a", "In", *(f"v{i}" for i in range(60)), minValues=50)),
    ),
    "Gte of zero": (NODE_POOL, requires(requirement("a", "Gte", "0"))),
    "a taint without a value": (NODE_POOL, template(taints=[taint()])),
    "a taint with a value and a domain": (NODE_POOL, template(taints=[taint(key="example.com/a", value="b")])),
    "every effect": (
        NODE_POOL,
        template(taints=[taint(effect=e) for e in ("NoSchedule", "PreferNoSchedule", "NoExecute")]),
    ),
    "startup taints": (NODE_POOL, template(startupTaints=[taint(value="b")])),
    "one key with two effects": (
        NODE_POOL, template(taints=[taint(), taint(effect="NoExecute")]),
    ),
    "an unusual label": (NODE_POOL, labelled("example.com/team", "A_b.c-1")),
    "an empty label value": (NODE_POOL, labelled("team", "")),
    "annotations are free": (
        NODE_POOL, {"spec": {"template": {"metadata": {"annotations": {"karpenter.sh/x": "y z"}}}}},
    ),
    "a static pool with a limit of nodes": (NODE_POOL, static(limits={"cpu": None, "nodes": "10"})),
    "a static pool without consolidateAfter": (
        NODE_POOL, static(disruption={"consolidateAfter": None}),
    ),
    "a static pool with budgets": (NODE_POOL, static(disruption={"budgets": [{"nodes": "1"}]})),
    "a static pool with a whole template": (
        NODE_POOL,
        static(
            template={
                "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                "spec": {"taints": [taint()], "expireAfter": "1h", "terminationGracePeriod": "1m"},
            }
        ),
    ),
    "a NodeClaim with taints": (
        NODE_CLAIM, {"spec": {"taints": [taint()], "startupTaints": [taint(effect="NoExecute")]}},
    ),
    "a NodeClaim that lives for ever": (NODE_CLAIM, {"spec": {"expireAfter": "Never"}}),
}  # fmt: skip


def _refused() -> Refusals:
    rows: Refusals = {}
    for name, text in NO_DURATIONS.items():
        rows |= {
            f"consolidateAfter that is {name}": (NODE_POOL, disruption(consolidateAfter=text), "consolidateAfter"),
            f"expireAfter that is {name}": (NODE_POOL, template(expireAfter=text), "expireAfter"),
            f"terminationGracePeriod that is {name}": (
                NODE_POOL, template(terminationGracePeriod=text), "terminationGracePeriod",
            ),
            f"a NodeClaim's terminationGracePeriod that is {name}": (
                NODE_CLAIM, {"spec": {"terminationGracePeriod": text}}, "terminationGracePeriod",
            ),
            f"a NodeClaim's expireAfter that is {name}": (
                NODE_CLAIM, {"spec": {"expireAfter": text}}, "expireAfter",
            ),
        }  # fmt: skip
    for policy in ("'WhenEmpty'", "0", "4", "10", "whenempty", "", "WhenFull"):
        rows[f"policy {policy!r}"] = (
            NODE_POOL,
            disruption(consolidationPolicy=policy),
            "consolidationPolicy",
        )
    for key in BAD_NAMES:
        rows[f"a requirement on {key!r}"] = (NODE_POOL, requires(requirement(key, "Exists")), "key")
        rows[f"a NodeClaim's requirement on {key!r}"] = (
            NODE_CLAIM, {"spec": {"requirements": [requirement(key, "Exists")]}}, "key",
        )  # fmt: skip
        rows[f"taint key {key!r}"] = (NODE_POOL, template(taints=[taint(key=key)]), "key")
    for operator in NUMERIC:
        for values in ((), ("1", "2"), ("a",), ("-1",), ("1.5",)):
            rows[f"{operator} of {values}"] = (
                NODE_POOL, requires(requirement("a", operator, *values)), "requirements",
            )  # fmt: skip
    for least in (-1, 0, 51):
        rows[f"minValues of {least}"] = (
            NODE_POOL, requires(requirement("a", "In", "x", minValues=least)), "minValues",
        )  # fmt: skip
    for key in ("karpenter.sh/x", "sub.karpenter.sh/x", "karpenter.sh/initialized"):
        rows[f"a requirement on {key}"] = (
            NODE_POOL, requires(requirement(key, "Exists")), 'label domain "karpenter.sh" is restricted',
        )  # fmt: skip
        rows[f"a NodeClaim's requirement on {key}"] = (
            NODE_CLAIM, {"spec": {"requirements": [requirement(key, "Exists")]}},
            'label domain "karpenter.sh" is restricted',
        )  # fmt: skip
    return rows | _refused_amounts()


def _refused_amounts() -> Refusals:
    rows: Refusals = {}
    for schedule in ("*", "* * * *", "@every 1h", "today"):
        night = {"nodes": "1", "schedule": schedule, "duration": "1h"}
        rows[f"schedule {schedule!r}"] = (NODE_POOL, budgets(night), "schedule")
    for nodes in ("-1", "-1%", "1000%", "101%", "1.5", "all", ""):
        rows[f"a budget of {nodes!r} nodes"] = (NODE_POOL, budgets({"nodes": nodes}), "nodes")
    for duration in ("-1h", "30s", "1h30s", "1d"):
        night = {"nodes": "1", "schedule": "@daily", "duration": duration}
        rows[f"a budget of duration {duration}"] = (NODE_POOL, budgets(night), "duration")
    for reason in ("Unknown", "Expired", "drifted", ""):
        rows[f"a budget for {reason!r}"] = (
            NODE_POOL,
            budgets({"nodes": "1", "reasons": [reason]}),
            "reasons",
        )
    for field in ("group", "kind", "name"):
        rows[f"a reference without {field}"] = (
            NODE_POOL,
            template(nodeClassRef={field: None}),
            field,
        )
        rows[f"a reference with an empty {field}"] = (
            NODE_POOL, template(nodeClassRef={field: ""}), f"{field} may not be empty",
        )  # fmt: skip
        rows[f"a NodeClaim's reference with an empty {field}"] = (
            NODE_CLAIM, {"spec": {"nodeClassRef": {field: ""}}}, f"{field} may not be empty",
        )  # fmt: skip
    for resource in ("cpu", "memory", "pods", "ephemeral-storage"):
        rows[f"a static pool with a limit of {resource}"] = (
            NODE_POOL, static(limits={"cpu": None, resource: "10"}), "only 'limits.nodes' is supported",
        )  # fmt: skip
    return rows


MANY = [requirement(f"key-{i}", "Exists") for i in range(101)]
_SINGLE_MISTAKES: Refusals = {
    "two budgets, one of them wrong": (NODE_POOL, budgets({"nodes": "1"}, {"nodes": "-1"}), "nodes"),
    "a duration without a schedule": (
        NODE_POOL, budgets({"nodes": "1", "duration": "1h"}), "'schedule' must be set with 'duration'",
    ),
    "51 budgets": (NODE_POOL, budgets(*({"nodes": str(i)} for i in range(51))), "budgets"),
    "101 requirements": (NODE_POOL, requires(*MANY), "requirements"),
    "101 requirements of a NodeClaim": (NODE_CLAIM, {"spec": {"requirements": MANY}}, "requirements"),
    "a NodeClaim without requirements": (NODE_CLAIM, {"spec": {"requirements": None}}, "requirements"),
    "an operator that there is not": (NODE_POOL, requires(requirement("a", "Near", "b")), "operator"),
    "a taint value with a brace": (NODE_POOL, template(taints=[taint(value="b}")]), "value"),
    "a startup taint without an effect": (NODE_POOL, template(startupTaints=[{"key": "a"}]), "effect"),
    "a taint without a key": (NODE_POOL, template(taints=[{"effect": "NoSchedule"}]), "key"),
    "a NodeClaim's taint of an unknown effect": (
        NODE_CLAIM, {"spec": {"taints": [taint(effect="Soon")]}}, "effect",
    ),
    "the nodepool as a label": (
        NODE_POOL, labelled("karpenter.sh/nodepool"), 'label "karpenter.sh/nodepool" is restricted',
    ),
    "a label value that is too long": (NODE_POOL, labelled("team", LONG_NAME), "labels"),
    "-1 replicas": (NODE_POOL, static(replicas=-1), "replicas"),
    "a static pool with a weight": (NODE_POOL, static(weight=10), "'weight' is not supported"),
}  # fmt: skip


ACCEPTED: Rows = _accepted() | _SINGLE
"""Name -> valid object and change."""
REJECTED: Refusals = _refused() | _SINGLE_MISTAKES
"""Name -> valid object, change, and what the refusal must speak of."""

CHANGES: dict[str, tuple[Json, Json, Json, str]] = {
    "replicas may grow": (NODE_POOL, STATIC, {"spec": {"replicas": 5}}, ""),
    "replicas may go to zero": (NODE_POOL, STATIC, {"spec": {"replicas": 0}}, ""),
    "a static pool's limit of nodes may change": (
        NODE_POOL, static(limits={"cpu": None, "nodes": "5"}), {"spec": {"limits": {"nodes": "6"}}}, "",
    ),
    "the name of the class may change": (
        NODE_POOL, {}, template(nodeClassRef={"name": "another"}), "",
    ),
    "a dynamic pool stays dynamic": (
        NODE_POOL, {"spec": {"limits": None}}, {"spec": {"replicas": 1}}, "Cannot transition NodePool",
    ),
    "a static pool stays static": (NODE_POOL, STATIC, {"spec": {"replicas": None}}, "Cannot transition NodePool"),
    "the kind of the class stays": (
        NODE_POOL, {}, template(nodeClassRef={"kind": "KWOKNodeClass"}), "nodeClassRef.kind is immutable",
    ),
    "the group of the class stays": (
        NODE_POOL, {}, template(nodeClassRef={"group": "karpenter.kwok.sh"}), "nodeClassRef.group is immutable",
    ),
    "a NodeClaim's spec stays": (NODE_CLAIM, {}, {"spec": {"expireAfter": "1h"}}, "spec is immutable"),
}  # fmt: skip
"""Name -> valid object, change before it is made, change after, and what the refusal speaks of; empty: it is taken."""

RUNTIME: dict[str, tuple[Json, str]] = {
    "a long label key": (labelled(LONG_NAME), "not a qualified name"),
    "a label key with a long prefix": (labelled("a" * 254 + "/x"), "not a qualified name"),
    "a long requirement key": (requires(requirement(LONG_NAME, "Exists")), "not a qualified name"),
    "a long taint key": (template(taints=[taint(key=LONG_NAME)]), "not a qualified name"),
    "a taint twice": (template(taints=[taint(), taint(value="b")]), "is given 2 times"),
    "a taint in both lists": (template(taints=[taint()], startupTaints=[taint()]), "is given 2 times"),
    "an unknown effect": (template(taints=[taint(effect="Soon")]), "use one of NoSchedule"),
    "a taint without a key": (template(taints=[{"key": "", "effect": "NoExecute"}]), "has no key"),
    "a value that is no label value": (requires(requirement("a", "In", "b}")), "has value 'b}'"),
    "only unknown capacity types": (
        requires(requirement("karpenter.sh/capacity-type", "In", "ondemand")), "only unknown values",
    ),
    "too few known capacity types for minValues": (
        requires(requirement("karpenter.sh/capacity-type", "In", "spot", "ondemand", minValues=2)),
        "minValues 2 and 1 usable",
    ),
    "a hostname": (requires(requirement("kubernetes.io/hostname", "In", "x")), "is restricted"),
    "a NodePool of its own": (labelled("karpenter.sh/nodepool"), "is restricted"),
    "a reserved domain": (labelled("karpenter.sh/initialized"), "is restricted"),
    "an unknown operator": (requires(requirement("a", "Near", "b")), "has operator 'Near'"),
    "In without values": (requires(requirement("a", "In")), "needs at least one value"),
    "Gt of a word": (requires(requirement("a", "Gt", "many")), "Gt"),
    "minValues of 51": (requires(requirement("a", "Exists", minValues=51)), "use 1 to 50"),
    "a limit that is no quantity": ({"spec": {"limits": {"cpu": "ten"}}}, "spec.limits"),
}  # fmt: skip
"""Name -> change of a valid NodePool, and what its condition ValidationSucceeded says when it came past the CRD."""

RUNTIME_ACCEPTED: dict[str, Json] = {
    "some unknown capacity types": requires(
        requirement("karpenter.sh/capacity-type", "In", "spot", "ondemand")
    ),
    "one key with two effects": template(taints=[taint(), taint(effect="NoExecute")]),
    "an old name of the zone": requires(
        requirement("failure-domain.beta.kubernetes.io/zone", "In", "zone-a")
    ),
    **{f"policy {p}": disruption(consolidationPolicy=p) for p in ("WhenEmpty", "Balanced")},
}
"""Name -> change of a valid NodePool that stays valid."""
