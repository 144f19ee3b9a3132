"""InterruptionQueue: AWS's warnings about instances, in a queue that the controller reads.

Five rules watch the default event bus. A warning older than five minutes has been overtaken by what
it warned of, so the queue forgets it.
"""

import json
from dataclasses import dataclass

import pulumi

from daiku_infra import naming, outputs, policies
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.providers import aws

RETENTION_SECONDS = 300
"""How long a warning is worth reading: spot gives two minutes."""

WARNINGS = {
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation-interruption": (
        "aws.ec2",
        "EC2 Capacity Reservation Instance Interruption Warning",
    ),
    "scheduled-change": ("aws.health", "AWS Health Event"),
}
"""What is listened to: purpose, then source and detail type of the event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionQueueArgs:
    """What an InterruptionQueue is made from."""

    cluster: ClusterRef
    """The cluster whose controller reads it."""


class InterruptionQueue(pulumi.ComponentResource):
    """A queue of warnings."""

    queue_name: pulumi.Output[str]
    """Name of the queue, once every rule feeds it."""
    queue_arn: pulumi.Output[str]
    """ARN of the queue."""

    def __init__(
        self, name: str, args: InterruptionQueueArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the queue's resources."""
        super().__init__("daiku:index:InterruptionQueue", name, None, opts)
        cluster = args.cluster
        own = pulumi.ResourceOptions(parent=self)
        queue = aws.sqs.Queue(
            name,
            name=naming.queue(cluster.name),
            message_retention_seconds=RETENTION_SECONDS,
            sqs_managed_sse_enabled=True,
            tags=cluster.tags,
            opts=own,
        )
        rule_arn = f"arn:{cluster.partition}:events:{cluster.region}:{cluster.account_id}:rule"
        rule_names = {purpose: naming.rule(cluster.name, purpose) for purpose in WARNINGS}
        policy = aws.sqs.QueuePolicy(
            name,
            queue_url=queue.url,
            policy=queue.arn.apply(
                lambda arn: policies.render(
                    policies.queue_policy(
                        queue_arn=arn,
                        rule_arns=[f"{rule_arn}/{rule}" for rule in rule_names.values()],
                    )
                )
            ),
            opts=own,
        )
        targets: list[pulumi.Output[str]] = []
        for purpose, (source, detail_type) in WARNINGS.items():
            rule = aws.cloudwatch.EventRule(
                f"{name}-{purpose}",
                name=rule_names[purpose],
                description=f"{detail_type}, for the nodes of {cluster.name}",
                event_pattern=json.dumps({"source": [source], "detail-type": [detail_type]}),
                tags=cluster.tags,
                opts=own,
            )
            target = aws.cloudwatch.EventTarget(
                f"{name}-{purpose}",
                rule=rule.name,
                target_id="interruption-queue",
                arn=queue.arn,
                # Before the queue's policy admits the rule, events would be lost without a trace.
                opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
            )
            targets.append(target.id)
        self.queue_arn = queue.arn
        self.queue_name = outputs.once(queue.name, *targets)
        self.register_outputs({"queueName": self.queue_name, "queueArn": self.queue_arn})
