"""Queues, the events that fill them, and log groups."""

# ruff: noqa: ARG002, D102 - the verbs are Kind's, which says what they mean
# boto3 has no types: its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from typing import Any

from daiku_local.plugins.aws.cloud import Cloud, tag_list, tag_map
from daiku_local.plugins.aws.iam import document
from daiku_local.plugins.aws.kind import Kind, kind, names
from daiku_local.plugins.values import Plain

_ATTRIBUTES = {
    "delaySeconds": "DelaySeconds",
    "kmsDataKeyReusePeriodSeconds": "KmsDataKeyReusePeriodSeconds",
    "kmsMasterKeyId": "KmsMasterKeyId",
    "maxMessageSize": "MaximumMessageSize",
    "messageRetentionSeconds": "MessageRetentionPeriod",
    "policy": "Policy",
    "receiveWaitTimeSeconds": "ReceiveMessageWaitTimeSeconds",
    "redrivePolicy": "RedrivePolicy",
    "sqsManagedSseEnabled": "SqsManagedSseEnabled",
    "visibilityTimeoutSeconds": "VisibilityTimeout",
}
_BOOLEANS = {"true": True, "false": False}


def _text(value: Any) -> str:
    """Give an attribute as the text that SQS takes."""
    if isinstance(value, bool):
        return str(value).lower()
    return document(value) if isinstance(value, dict) else str(value)


def _attribute(value: str | None) -> Any:
    """Give SQS's text as a value."""
    if value is None or value == "":
        return None
    return _BOOLEANS.get(value, int(value) if value.isdecimal() else value)


@kind("aws:sqs/queue:Queue")
class Queue(Kind):
    """A queue."""

    tagged = True
    fixed = names("name namePrefix fifoQueue")
    live = frozenset(_ATTRIBUTES)
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        attributes = {o: _text(inputs[i]) for i, o in _ATTRIBUTES.items() if i in inputs}
        if inputs.get("fifoQueue"):
            attributes["FifoQueue"] = "true"
        answer = cloud.client("sqs").create_queue(
            QueueName=inputs["name"], Attributes=attributes, tags=inputs.get("tagsAll") or {}
        )
        return answer["QueueUrl"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        attributes = {
            _ATTRIBUTES[name]: "" if new.get(name) is None else _text(new[name]) for name in changed
        }
        if attributes:
            cloud.client("sqs").set_queue_attributes(QueueUrl=identifier, Attributes=attributes)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        sqs = cloud.client("sqs")
        seen = sqs.get_queue_attributes(QueueUrl=identifier, AttributeNames=["All"])["Attributes"]
        tags = sqs.list_queue_tags(QueueUrl=identifier).get("Tags") or {}
        outputs = {ours: _attribute(seen.get(theirs)) for ours, theirs in _ATTRIBUTES.items()}
        if "policy" not in known:  # it belongs to a QueuePolicy
            outputs.pop("policy")
        return {
            **outputs,
            "arn": seen["QueueArn"],
            "name": identifier.rsplit("/", 1)[1],
            "url": identifier,
            "fifoQueue": seen.get("FifoQueue") == "true",
            "tagsAll": tags,
        }

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        sqs = cloud.client("sqs")
        if added:
            sqs.tag_queue(QueueUrl=identifier, Tags=added)
        if removed:
            sqs.untag_queue(QueueUrl=identifier, TagKeys=removed)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.client("sqs").delete_queue(QueueUrl=identifier)


@kind("aws:sqs/queuePolicy:QueuePolicy")
class QueuePolicy(Kind):
    """Who may send to a queue."""

    fixed = names("queueUrl")
    live = names("policy")

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        self.update(cloud, "", inputs, {"policy"})
        return inputs["queueUrl"]

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        cloud.client("sqs").set_queue_attributes(
            QueueUrl=new["queueUrl"], Attributes={"Policy": document(new["policy"])}
        )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        answer = cloud.client("sqs").get_queue_attributes(
            QueueUrl=identifier, AttributeNames=["Policy"]
        )
        policy = answer.get("Attributes", {}).get("Policy")
        return {"queueUrl": identifier, "policy": policy} if policy else None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.client("sqs").set_queue_attributes(QueueUrl=identifier, Attributes={"Policy": ""})


@kind("aws:cloudwatch/eventRule:EventRule")
class EventRule(Kind):
    """Which events are passed on."""

    tagged = True
    fixed = names("name namePrefix eventBusName")
    live = names("description eventPattern scheduleExpression roleArn state")
    ignored = names("forceDestroy")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        self._put(cloud, inputs, Tags=tag_list(inputs.get("tagsAll")))
        bus = inputs.get("eventBusName", "default")
        return inputs["name"] if bus == "default" else f"{bus}/{inputs['name']}"

    @staticmethod
    def _put(cloud: Cloud, inputs: Plain, **more: Any) -> None:
        pattern = inputs.get("eventPattern")
        optional = {
            "Description": inputs.get("description"),
            "EventPattern": document(pattern) if pattern else None,
            "ScheduleExpression": inputs.get("scheduleExpression"),
            "RoleArn": inputs.get("roleArn"),
            "State": inputs.get("state", "ENABLED"),
        }
        cloud.client("events").put_rule(
            Name=inputs["name"],
            EventBusName=inputs.get("eventBusName", "default"),
            **{key: value for key, value in optional.items() if value is not None},
            **more,
        )

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        if changed:
            self._put(cloud, new)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        bus, _, name = identifier.rpartition("/")
        events = cloud.client("events")
        rule = events.describe_rule(Name=name, EventBusName=bus or "default")
        return {
            "arn": rule["Arn"],
            "name": rule["Name"],
            "eventBusName": rule.get("EventBusName", "default"),
            "description": rule.get("Description"),
            "eventPattern": rule.get("EventPattern"),
            "scheduleExpression": rule.get("ScheduleExpression"),
            "roleArn": rule.get("RoleArn"),
            "state": rule.get("State", "ENABLED"),
            "tagsAll": tag_map(events.list_tags_for_resource(ResourceARN=rule["Arn"])["Tags"]),
        }

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        events = cloud.client("events")
        if added:
            events.tag_resource(ResourceARN=state["arn"], Tags=tag_list(added))
        if removed:
            events.untag_resource(ResourceARN=state["arn"], TagKeys=removed)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        bus, _, name = identifier.rpartition("/")
        cloud.client("events").delete_rule(Name=name, EventBusName=bus or "default")


@kind("aws:cloudwatch/eventTarget:EventTarget")
class EventTarget(Kind):
    """Where the events of a rule go."""

    fixed = names("rule targetId eventBusName")
    live = names("arn input inputPath roleArn")
    ignored = names("forceDestroy")
    named = "targetId"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        self.update(cloud, "", inputs, set(self.live))
        return f"{inputs['rule']}-{inputs['targetId']}"

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        optional = {
            "Input": new.get("input"),
            "InputPath": new.get("inputPath"),
            "RoleArn": new.get("roleArn"),
        }
        target = {"Id": new["targetId"], "Arn": new["arn"]}
        target |= {key: value for key, value in optional.items() if value is not None}
        cloud.client("events").put_targets(
            Rule=new["rule"], EventBusName=new.get("eventBusName", "default"), Targets=[target]
        )

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        bus = known.get("eventBusName", "default")
        answer = cloud.client("events").list_targets_by_rule(Rule=known["rule"], EventBusName=bus)
        for target in answer["Targets"]:
            if target["Id"] == known["targetId"]:
                return {
                    "rule": known["rule"],
                    "targetId": target["Id"],
                    "eventBusName": bus,
                    "arn": target["Arn"],
                    "input": target.get("Input"),
                    "inputPath": target.get("InputPath"),
                    "roleArn": target.get("RoleArn"),
                }
        return None

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        cloud.client("events").remove_targets(
            Rule=state["rule"],
            EventBusName=state.get("eventBusName", "default"),
            Ids=[state["targetId"]],
        )


@kind("aws:cloudwatch/logGroup:LogGroup")
class LogGroup(Kind):
    """A log group, and how long it keeps."""

    tagged = True
    fixed = names("name namePrefix logGroupClass")
    live = names("retentionInDays kmsKeyId")
    ignored = names("skipDestroy")
    named = "name"

    def create(self, cloud: Cloud, inputs: Plain) -> str:
        optional = {
            "kmsKeyId": inputs.get("kmsKeyId"),
            "logGroupClass": inputs.get("logGroupClass"),
        }
        cloud.client("logs").create_log_group(
            logGroupName=inputs["name"],
            tags=inputs.get("tagsAll") or {},
            **{key: value for key, value in optional.items() if value is not None},
        )
        return inputs["name"]

    def settle(self, cloud: Cloud, identifier: str, inputs: Plain) -> None:
        if days := inputs.get("retentionInDays"):
            cloud.client("logs").put_retention_policy(logGroupName=identifier, retentionInDays=days)

    def update(self, cloud: Cloud, identifier: str, new: Plain, changed: set[str]) -> None:
        logs = cloud.client("logs")
        if "retentionInDays" in changed and not new.get("retentionInDays"):
            logs.delete_retention_policy(logGroupName=identifier)
        if "kmsKeyId" in changed:
            if key := new.get("kmsKeyId"):
                logs.associate_kms_key(logGroupName=identifier, kmsKeyId=key)
            else:
                logs.disassociate_kms_key(logGroupName=identifier)

    def read(self, cloud: Cloud, identifier: str, known: Plain) -> Plain | None:
        logs = cloud.client("logs")
        found = logs.describe_log_groups(logGroupNamePrefix=identifier)["logGroups"]
        for group in found:
            if group["logGroupName"] == identifier:
                arn = group["arn"].removesuffix(":*")
                return {
                    "arn": arn,
                    "name": identifier,
                    "retentionInDays": group.get("retentionInDays", 0),
                    "kmsKeyId": group.get("kmsKeyId"),
                    "logGroupClass": group.get("logGroupClass"),
                    "tagsAll": logs.list_tags_for_resource(resourceArn=arn).get("tags") or {},
                }
        return None

    def retag(
        self, cloud: Cloud, identifier: str, state: Plain, added: Plain, removed: list[str]
    ) -> None:
        logs = cloud.client("logs")
        if added:
            logs.tag_resource(resourceArn=state["arn"], tags=added)
        if removed:
            logs.untag_resource(resourceArn=state["arn"], tagKeys=removed)

    def delete(self, cloud: Cloud, identifier: str, state: Plain) -> None:
        if not state.get("skipDestroy"):
            cloud.client("logs").delete_log_group(logGroupName=identifier)
