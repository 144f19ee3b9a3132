"""The settings of a kubelet by name and type, so that a misspelt one is told before a machine fails to boot with it.

Only names and types are here; what values make sense is for whoever uses them.

Source: kubernetes, staging/src/k8s.io/kubelet/config/v1beta1/types.go, KubeletConfiguration of 1.36.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from daiku.api.wire import Int32

Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Duration = Annotated[
    str, msgspec.Meta(pattern=r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$")
]
Texts = dict[str, str]
OBJECT: Final = dict[str, Any]
"""A nested object that nothing here looks into."""


def _struct(name: str, **fields: Any) -> type[msgspec.Struct]:
    """A struct of which every field may be left out, and no other may be there."""
    return msgspec.defstruct(
        name,
        [(field, kind | None, None) for field, kind in fields.items()],
        forbid_unknown_fields=True,
        kw_only=True,
    )


def _of(kind: Any, names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), kind)


_AUTHENTICATION = _struct(
    "Authentication",
    x509=_struct("X509", clientCAFile=str),
    webhook=_struct("WebhookAuthentication", enabled=bool, cacheTTL=Duration),
    anonymous=_struct("Anonymous", enabled=bool),
)
_WEBHOOK = _struct(
    "WebhookAuthorization", cacheAuthorizedTTL=Duration, cacheUnauthorizedTTL=Duration
)
KubeletConfiguration: Final = _struct(
    "KubeletConfiguration",
    **_of(
        bool,
        "enableServer rotateCertificates serverTLSBootstrap enableDebuggingHandlers enableContentionProfiling "
        "cgroupsPerQOS singleProcessOOMKill runOnce cpuCFSQuota serializeImagePulls mergeDefaultEvictionSettings "
        "enableControllerAttachDetach protectKernelDefaults makeIPTablesUtilChains failSwapOn "
        "kernelMemcgNotification enableSystemLogHandler enableSystemLogQuery enableProfilingHandler "
        "enableDebugFlagsHandler seccompDefault registerNode localStorageCapacityIsolation failCgroupV1",
    ),
    **_of(
        str,
        "kind apiVersion staticPodPath podLogsDir staticPodURL address tlsCertFile tlsPrivateKeyFile tlsMinVersion "
        "imagePullCredentialsVerificationPolicy healthzBindAddress clusterDomain kubeletCgroups systemCgroups "
        "cgroupRoot cgroupDriver cpuManagerPolicy memoryManagerPolicy topologyManagerPolicy topologyManagerScope "
        "hairpinMode podCIDR resolvConf contentType containerLogMaxSize configMapAndSecretChangeDetectionStrategy "
        "reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup volumePluginDir "
        "providerID containerRuntimeEndpoint imageServiceEndpoint memoryReservationPolicy",
    ),
    **_of(
        Duration,
        "syncFrequency fileCheckFrequency httpCheckFrequency streamingConnectionIdleTimeout "
        "nodeStatusUpdateFrequency nodeStatusReportFrequency imageMinimumGCAge imageMaximumGCAge "
        "volumeStatsAggPeriod cpuManagerReconcilePeriod runtimeRequestTimeout cpuCFSQuotaPeriod "
        "evictionPressureTransitionPeriod containerLogMonitorInterval shutdownGracePeriod "
        "shutdownGracePeriodCriticalPods",
    ),
    **_of(
        Int32,
        "port readOnlyPort registryPullQPS registryBurst eventRecordQPS eventBurst healthzPort oomScoreAdj "
        "nodeLeaseDurationSeconds imageGCHighThresholdPercent imageGCLowThresholdPercent maxPods "
        "nodeStatusMaxImages kubeAPIQPS kubeAPIBurst maxParallelImagePulls evictionMaxPodGracePeriod podsPerCore "
        "iptablesMasqueradeBit iptablesDropBit containerLogMaxFiles containerLogMaxWorkers",
    ),
    **_of(Int64, "podPidsLimit maxOpenFiles"),
    **_of(
        list[str],
        "tlsCipherSuites preloadedImagesVerificationAllowlist clusterDNS enforceNodeAllocatable "
        "allowedUnsafeSysctls",
    ),
    **_of(
        Texts,
        "cpuManagerPolicyOptions topologyManagerPolicyOptions qosReserved evictionHard evictionSoft "
        "evictionSoftGracePeriod evictionMinimumReclaim systemReserved kubeReserved",
    ),
    tlsCurvePreferences=list[Int32],
    staticPodURLHeader=dict[str, list[str]],
    featureGates=dict[str, bool],
    memoryThrottlingFactor=float,
    authentication=_AUTHENTICATION,
    authorization=_struct("Authorization", mode=str, webhook=_WEBHOOK),
    memorySwap=_struct("MemorySwap", swapBehavior=str),
    shutdownGracePeriodByPodPriority=list[
        _struct("ByPodPriority", priority=Int32, shutdownGracePeriodSeconds=Int64)
    ],
    crashLoopBackOff=_struct("CrashLoopBackOff", maxContainerRestartPeriod=Duration),
    reservedMemory=list[_struct("MemoryReservation", numaNode=Int32, limits=dict[str, str | int])],
    registerWithTaints=list[_struct("Taint", key=str, value=str, effect=str, timeAdded=str)],
    logging=OBJECT,
    tracing=OBJECT,
    userNamespaces=_struct("UserNamespaces", idsPerPod=Int64),
)


def problem(config: Mapping[str, Any]) -> str:
    """Why this is not the configuration of a kubelet; empty when it is."""
    try:
        msgspec.convert(config, KubeletConfiguration)
    except msgspec.ValidationError as error:
        return str(error).replace("`$", "`kubelet")
    return ""
