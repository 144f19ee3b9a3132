"""Which Kubernetes versions EKS offers, and until when.

The dates of 1.31 to 1.35 are those that AWS published; those of 1.36 are estimated by the rule of 14
months of standard and 12 months of extended support. The laptop runs one version only: a cluster
shows the version that was asked for, its API server tells its own.
"""

from datetime import UTC, datetime
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.eks import errors, lookup
from daiku_local.toolchain import pins

DEFAULT = "1.36"
"""What a cluster gets that names no version: EKS gives the newest."""
PLATFORM = "eks.9"

SUPPORT: dict[str, tuple[str, str, str]] = {
    "1.36": ("2026-06-16", "2027-08-16", "2028-08-16"),
    "1.35": ("2026-01-27", "2027-03-27", "2028-03-27"),
    "1.34": ("2025-10-02", "2026-12-02", "2027-12-02"),
    "1.33": ("2025-05-29", "2026-07-29", "2027-07-29"),
    "1.32": ("2025-01-23", "2026-03-23", "2027-03-23"),
    "1.31": ("2024-09-26", "2025-11-26", "2026-11-26"),
}
"""For each version: release, end of standard support, end of extended support."""


def check(version: str) -> str:
    """The version itself.

    Raises:
        AwsError: EKS does not offer it.
    """
    if version not in SUPPORT:
        raise errors.bad_parameter(f"unsupported Kubernetes version: {version}")
    return version


def patch(version: str) -> str:
    """Its newest patch release, such as "1.36.0": what the laptop's own control plane is of, where it can be."""
    return pins.KUBERNETES.get(version, f"{version}.4")


def is_next(current: str, wanted: str) -> bool:
    """Whether a cluster of one version may be updated to the other: one minor version up."""
    return int(wanted.split(".")[1]) - int(current.split(".")[1]) == 1


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeClusterVersions."""
    now = cloud.now()
    rows = [_row(version, now) for version in SUPPORT]
    if wanted := asked.get("clusterVersions"):
        rows = [row for row in rows if row["clusterVersion"] in wanted]
    if asked.get("defaultOnly"):
        rows = [row for row in rows if row["defaultVersion"]]
    if status := asked.get("versionStatus"):
        rows = [row for row in rows if row["versionStatus"] == status]
    elif not asked.get("includeAll") and not wanted:
        rows = [row for row in rows if row["versionStatus"] != "UNSUPPORTED"]
    by_version = {row["clusterVersion"]: row for row in rows}
    result = lookup.page(list(by_version), asked, "clusterVersions")
    result["clusterVersions"] = [by_version[version] for version in result["clusterVersions"]]
    return result


def _row(version: str, now: float) -> dict[str, Any]:
    release, standard, extended = (
        datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp() for date in SUPPORT[version]
    )
    status = "STANDARD_SUPPORT" if now < standard else "EXTENDED_SUPPORT"
    if now >= extended:
        status = "UNSUPPORTED"
    return {
        "clusterVersion": version,
        "clusterType": "eks",
        "defaultPlatformVersion": PLATFORM,
        "defaultVersion": version == DEFAULT,
        "releaseDate": release,
        "endOfStandardSupportDate": standard,
        "endOfExtendedSupportDate": extended,
        "status": status.lower().replace("_", "-"),
        "versionStatus": status,
        "kubernetesPatchVersion": patch(version),
    }


HANDLERS = {"DescribeClusterVersions": describe}
