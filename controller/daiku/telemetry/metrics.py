"""Every metric of the controller. Names and labels are Karpenter's where it measures the same thing.

What only Daiku measures begins with daiku_. Units are in the names.
"""

from typing import Final

from prometheus_client import (
    GC_COLLECTOR,
    REGISTRY,
    Counter,
    Gauge,
    Histogram,
    Summary,
    disable_created_metrics,
)

# A second series per counter that nobody's dashboards know.
disable_created_metrics()
# Of Python's own collectors only the process' is of use.
REGISTRY.unregister(GC_COLLECTOR)

DURATIONS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120)
"""Bucket bounds in seconds. Fewer than Karpenter's 45: each is a series for every label, and all of them together
are to stay below 200 on a small cluster (docs/metrics.md). Quantiles are asked for in the same way."""
WAITS: Final = (0.1, 0.5, 1, 5, 30)
"""The same for what is seldom looked at."""

NODECLAIMS_CREATED: Final = Counter(
    "karpenter_nodeclaims_created_total",
    "NodeClaims created.",
    ["reason", "nodepool", "min_values_relaxed"],
)
NODECLAIMS_TERMINATED: Final = Counter(
    "karpenter_nodeclaims_terminated_total",
    "NodeClaims terminated.",
    ["nodepool", "capacity_type", "zone"],
)
NODECLAIMS_DISRUPTED: Final = Counter(
    "karpenter_nodeclaims_disrupted_total",
    "NodeClaims whose deletion was asked for, by reason.",
    ["reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"],
)
NODES_CREATED: Final = Counter(
    "karpenter_nodes_created_total", "Nodes registered.", ["nodepool", "zone"]
)
NODES_TERMINATED: Final = Counter(
    "karpenter_nodes_terminated_total", "Nodes terminated.", ["nodepool", "zone"]
)
PODS_EVICTION_REQUESTS: Final = Counter(
    "karpenter_pods_eviction_requests_total", "Eviction requests, by HTTP status code.", ["code"]
)
CLUSTER_STATE_NODES: Final = Gauge(
    "karpenter_cluster_state_node_count", "Nodes that are believed to exist."
)
CLUSTER_STATE_SYNCED: Final = Gauge(
    "karpenter_cluster_state_synced",
    "1 when every kind has been listed and none has to be again, else 0.",
)
SCHEDULING_SECONDS: Final = Histogram(
    "karpenter_scheduler_scheduling_duration_seconds",
    "Duration of one tick: from the snapshot to the plan.",
    ["controller"],
    buckets=DURATIONS,
)
UNSCHEDULABLE_PODS: Final = Gauge(
    "karpenter_scheduler_unschedulable_pods_count",
    "Pods that fit nowhere, by the last tick.",
    ["controller"],
)
NODEPOOL_USAGE: Final = Gauge(
    "karpenter_nodepools_usage",
    "What the nodes of a NodePool have together.",
    ["resource_type", "nodepool"],
)
NODEPOOL_LIMIT: Final = Gauge(
    "karpenter_nodepools_limit", "Limits of a NodePool.", ["resource_type", "nodepool"]
)
NODEPOOL_COST: Final = Gauge(
    "karpenter_nodepools_cost_total",
    "What the nodes of a NodePool cost together, in USD per hour.",
    ["nodepool"],
)
ALLOWED_DISRUPTIONS: Final = Gauge(
    "karpenter_nodepools_allowed_disruptions",
    "Nodes that the budgets of a NodePool let go at once.",
    ["nodepool", "reason"],
)
CLUSTER_UTILIZATION: Final = Gauge(
    "karpenter_cluster_utilization_percent",
    "What pods ask for, of what all nodes have for pods.",
    ["resource_type"],
)
DISRUPTION_DECISIONS: Final = Counter(
    "karpenter_voluntary_disruption_decisions_total",
    "Disruptions that were carried out, by delete or replace.",
    ["decision", "reason", "consolidation_type"],
)
ELIGIBLE_NODES: Final = Gauge(
    "karpenter_voluntary_disruption_eligible_nodes",
    "Nodes that could go for a reason, and are kept for now.",
    ["reason"],
)
PODS_DISRUPTED: Final = Counter(
    "karpenter_pods_disruption_initiated_total",
    "Pods that had to move because their nodes were disrupted by choice.",
    ["reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"],
)
CLOUD_SECONDS: Final = Histogram(
    "karpenter_cloudprovider_duration_seconds",
    "Duration of calls of the cloud.",
    ["controller", "method", "provider"],
    buckets=WAITS,
)
CLOUD_ERRORS: Final = Counter(
    "karpenter_cloudprovider_errors_total",
    "Calls of the cloud that were refused.",
    ["controller", "method", "provider", "error"],
)
LAUNCH_FAILURES: Final = Counter(
    "karpenter_cloudprovider_instance_launch_failures_total",
    "Pools that gave no instance, by zone and reason.",
    ["zone", "zone_id", "capacity_type", "reason"],
)
BATCH_SIZES: Final = (1, 20)
"""Bucket bounds in calls: alone, as many as one deployment's worth, more."""
BATCH_WAITS: Final = (1, 10)
"""Bucket bounds in seconds: as long as a window is at most, as long as EC2 makes launches wait."""
BATCH_SECONDS: Final = Histogram(
    "karpenter_cloudprovider_batcher_batch_time_seconds",
    "How long calls waited for others to join them.",
    ["batcher"],
    buckets=BATCH_WAITS,
)
BATCH_SIZE: Final = Histogram(
    "karpenter_cloudprovider_batcher_batch_size",
    "How many calls were made as one.",
    ["batcher"],
    buckets=BATCH_SIZES,
)
INTERRUPTION_RECEIVED: Final = Counter(
    "karpenter_interruption_received_messages_total",
    "Messages of the interruption queue, by what they say.",
    ["message_type"],
)
INTERRUPTION_DELETED: Final = Counter(
    "karpenter_interruption_deleted_messages_total",
    "Messages of the interruption queue that were done with.",
)
INTERRUPTION_SECONDS: Final = Histogram(
    "karpenter_interruption_message_queue_duration_seconds",
    "From the making of a message to its arrival here.",
    buckets=WAITS,
)
INSTANCE_UNHEALTHY: Final = Counter(
    "karpenter_interruption_instance_status_unhealthy_total",
    "Episodes in which EC2 called an instance broken or scheduled something for it.",
    ["category"],
)
BUILD_INFO: Final = Gauge(
    "karpenter_build_info", "1, with what is running.", ["version", "goversion", "goarch", "commit"]
)

COMMANDS: Final = Counter("daiku_commands_total", "Commands carried out.", ["command", "outcome"])
COMMAND_SECONDS: Final = Summary(
    "daiku_command_duration_seconds",
    "Duration of commands: their sum and their count.",
    ["command"],
)
COMMANDS_WAITING: Final = Gauge(
    "daiku_commands_waiting_count", "Commands submitted and not finished."
)
INBOX_DEPTH: Final = Gauge("daiku_inbox_depth_count", "Events that wait to be applied.")
TICKS: Final = Counter("daiku_ticks_total", "Ticks decided.")
LEADER: Final = Gauge("daiku_leader", "1 while this process holds the lease, else 0.")
CLUSTER_PRICE: Final = Gauge(
    "daiku_cluster_price_usd_per_hour", "What all nodes of NodePools cost."
)
LOWER_BOUND_GAP: Final = Gauge(
    "daiku_gap_to_lower_bound_ratio",
    "By which share the last new nodes cost more than the least possible; 0.05 is 5 %.",
)
SAVINGS: Final = Counter(
    "daiku_savings_usd_per_hour_total", "What consolidations that were carried out save together."
)
NODES_KEPT: Final = Gauge(
    "daiku_nodes_kept_count", "Nodes that are not disrupted now, by why.", ["reason"]
)
PRICE_GUARD_HELD: Final = Gauge(
    "daiku_price_guard_held_pods_count",
    "Pods whose node would cost more than the price guard allows now; no series before the first.",
    ["nodepool"],
)
WATCH_RELISTS: Final = Counter(
    "daiku_watch_relists_total", "Lists made anew because the server forgot.", ["kind"]
)
WATCH_FAILURES: Final = Counter(
    "daiku_watch_failures_total", "Watches that broke or were refused.", ["kind"]
)
UNREADABLE_OBJECTS: Final = Counter(
    "daiku_unreadable_objects_total", "Objects left out because they cannot be read.", ["kind"]
)
CATALOGUE_SECONDS: Final = Gauge(
    "daiku_catalogue_build_seconds", "Duration of the last build of the catalogue."
)
