"""When a Node on EC2 counts as broken: its kubelet is silent, or EKS' node monitoring agent says so.

Source: Karpenter's AWS provider, RepairPolicies; the conditions of the EKS node monitoring agent.
"""

from datetime import timedelta
from typing import Final

from daiku.model.repair import RepairPolicy

_LONG: Final = timedelta(minutes=30)
_SHORT: Final = timedelta(minutes=10)

POLICIES: Final = (
    RepairPolicy(condition="Ready", status="False", toleration=_LONG),
    RepairPolicy(condition="Ready", status="Unknown", toleration=_LONG),
    RepairPolicy(condition="AcceleratedHardwareReady", status="False", toleration=_SHORT),
    RepairPolicy(condition="StorageReady", status="False", toleration=_LONG),
    RepairPolicy(condition="NetworkingReady", status="False", toleration=_LONG),
    RepairPolicy(condition="KernelReady", status="False", toleration=_LONG),
    RepairPolicy(condition="ContainerRuntimeReady", status="False", toleration=_LONG),
)
