"""The versions of every tool, where each comes from, and the checksums.

Data only. Checksums of releases are those that the projects publish: Kubernetes in its changelog,
etcd in its SHA256SUMS. kwok and Pulumi have none here, so they are built on every platform; Go
checks their modules against its checksum database. Each go.mod names one module, whose own
requirements fix all the others, and repeats the replacements that count only in a main module.
"""

from daiku_local.toolchain.recipe import GIB, Build, Bundle, Release, Scripts

KUBERNETES = {"1.34": "1.34.4", "1.35": "1.35.4", "1.36": "1.36.0", "1.37": "1.37.2"}
"""Minor version to the release of it that is made. Those without a checksum below are built everywhere."""
KUBERNETES_DEFAULT = "1.36"
"""The newest that EKS offers."""
ETCD = "3.6.5"
KWOK = "0.7.0"
PULUMI = "3.200.0"
LANGUAGE_HOST = "3.79.0"
"""Last SDK module that holds the Python language host; later hosts are in a module without tags."""

_STAGING = (
    "api", "apiextensions-apiserver", "apimachinery", "apiserver", "cli-runtime", "client-go",
    "cloud-provider", "cluster-bootstrap", "code-generator", "component-base",
    "component-helpers", "controller-manager", "cri-api", "cri-client", "cri-streaming",
    "csi-translation-lib", "dynamic-resource-allocation", "endpointslice", "externaljwt", "kms",
    "kube-aggregator", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl",
    "kubelet", "metrics", "mount-utils", "pod-security-admission", "sample-apiserver",
    "sample-cli-plugin", "sample-controller", "streaming",
)  # fmt: skip
_GODEBUG = {"1.34": "go1.24", "1.35": "go1.25", "1.36": "go1.26", "1.37": "go1.26"}
"""What each minor version's own go.mod says, which counts only in a main module."""
_KUBERNETES_TOOLS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
_KUBERNETES_SHA512 = {
    "1.34.4": {
        "linux/amd64": "65c75e81e3ea488f6d42b493cad64d7577ddfa1e5372037a1c841ac069039997"
        "d359b5b2f2d44e7665bf04c48ed0065cf9d4c9801b1e63bb6a1b099ef00d4863",
        "linux/arm64": "a1fad7060ed67b5634f32f3256a295179dd887dab5c82b8550c2eb62c69df34c"
        "fbb311c8f93e7608d558eba32b9e2ddc23976db39e512fd747cc6bf9b4c1765f",
    },
    "1.36.0": {
        "linux/amd64": "1c64da92575451c2c7ff97c79b772e603995f8e76da1371a6b0746aaa27b65dc"
        "e81c4d734cbb50f40e71486a8e08df36f14e12974f97d4d29e41f23a172a6a25",
        "linux/arm64": "7f95e451baedd9368a2fa637afa84c9ed1b958736540ca27a379e5e292e1a10c"
        "5d9a29539f833047574bf5d3b6f907f32dee5735acecc11aa4686f078108dcf8",
    },
}
_ETCD_SHA256 = {
    "linux/amd64": "66bad39ed920f6fc15fd74adcb8bfd38ba9a6412f8c7852d09eb11670e88cac3",
    "linux/arm64": "7010161787077b07de29b15b76825ceacbbcedcb77fe2e6832f509be102cab6b",
    "darwin/amd64": "ab1286184ea8f27a921730d494b7dea4f9a0d3b176e70ab48fcdf77448e1ac57",
    "darwin/arm64": "14d7743f9ed07950a8e85491646e067e394a09e049e42083e2f6473fefa717a8",
}


def _go_mod(name: str, module: str, version: str, *extra: str) -> str:
    lines = (
        f"module daiku.dev/toolchain/{name}",
        "go 1.24.0",
        f"require {module} v{version}",
        *extra,
    )
    return "\n".join(lines) + "\n"


def _kubernetes(release: str) -> Bundle:
    module = "k8s.io/kubernetes"
    staging_version = "0" + release.removeprefix("1")
    major, minor, _ = release.split(".")
    stamps = {
        "k8s.io/component-base/version.gitVersion": f"v{release}",
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        "k8s.io/client-go/pkg/version.gitVersion": f"v{release}",
    }
    packages = {f"{module}/cmd/{tool}": tool for tool in _KUBERNETES_TOOLS}
    go_mod = _go_mod(
        "kubernetes",
        module,
        release,
        f"godebug default={_GODEBUG[f'{major}.{minor}']}",
        *(f"replace k8s.io/{name} => k8s.io/{name} v{staging_version}" for name in _STAGING),
    )
    return Bundle(
        name="kubernetes",
        version=release,
        builds=(
            Build(
                files={"go.mod": go_mod},
                packages=packages,
                link_flags=" ".join(["-s -w", *(f"-X {k}={v}" for k, v in stamps.items())]),
            ),
        ),
        releases={
            platform: Release(
                url=f"https://dl.k8s.io/v{release}/"
                f"kubernetes-server-{platform.replace('/', '-')}.tar.gz",
                algorithm="sha512",
                digest=digest,
                members={f"kubernetes/server/bin/{tool}": tool for tool in _KUBERNETES_TOOLS},
            )
            for platform, digest in _KUBERNETES_SHA512.get(release, {}).items()
        },
        build_minutes=4,
        build_bytes=4 * GIB,
    )


def _etcd() -> Bundle:
    module = "go.etcd.io/etcd/server/v3"

    def release(platform: str, digest: str) -> Release:
        stem = f"etcd-v{ETCD}-{platform.replace('/', '-')}"
        ending = ".zip" if platform.startswith("darwin/") else ".tar.gz"
        return Release(
            url=f"https://github.com/etcd-io/etcd/releases/download/v{ETCD}/{stem}{ending}",
            algorithm="sha256",
            digest=digest,
            members={f"{stem}/etcd": "etcd"},
        )

    return Bundle(
        name="etcd",
        version=ETCD,
        builds=(Build(files={"go.mod": _go_mod("etcd", module, ETCD)}, packages={module: "etcd"}),),
        releases={name: release(name, digest) for name, digest in _ETCD_SHA256.items()},
        build_minutes=0.5,
        build_bytes=GIB,
    )


def _kwok() -> Bundle:
    module = "sigs.k8s.io/kwok"
    return Bundle(
        name="kwok",
        version=KWOK,
        builds=(
            Build(
                files={"go.mod": _go_mod("kwok", module, KWOK)},
                packages={f"{module}/cmd/kwok": "kwok"},
            ),
        ),
        build_minutes=1,
        build_bytes=GIB,
    )


def _pulumi() -> Bundle:
    repository = "github.com/pulumi/pulumi"
    sdk = f"{repository}/sdk/v3"
    go_mod = _go_mod(
        "pulumi",
        f"{repository}/pkg/v3",
        PULUMI,
        f"replace {sdk} => {sdk} v{PULUMI}",
        "replace github.com/sergi/go-diff => github.com/sergi/go-diff v1.1.0",
        "replace github.com/atotto/clipboard => "
        "github.com/tgummerer/clipboard v0.0.0-20241001131231-d02d263e614e",
    )
    return Bundle(
        name="pulumi",
        version=PULUMI,
        builds=(
            Build(
                files={"go.mod": go_mod},
                packages={f"{repository}/pkg/v3/cmd/pulumi": "pulumi"},
                link_flags=f"-s -w -X {sdk}/go/common/version.Version=v{PULUMI}",
            ),
            Build(
                files={"go.mod": _go_mod("language-host", sdk, LANGUAGE_HOST)},
                packages={f"{sdk}/python/cmd/pulumi-language-python": "pulumi-language-python"},
            ),
        ),
        scripts=(
            Scripts(
                module=f"{sdk}@v{PULUMI}",
                files={
                    "python/cmd/pulumi-language-python-exec": "pulumi-language-python-exec",
                    "python/dist/pulumi-resource-pulumi-python": "pulumi-resource-pulumi-python",
                    "python/dist/pulumi-analyzer-policy-python": "pulumi-analyzer-policy-python",
                },
            ),
        ),
        build_minutes=2,
        build_bytes=2 * GIB,
    )


def bundles(kubernetes: str = KUBERNETES_DEFAULT) -> tuple[Bundle, ...]:
    """Every bundle, with the control plane of a minor version; for one that is not pinned, KeyError."""
    return (_etcd(), _kwok(), _pulumi(), _kubernetes(KUBERNETES[kubernetes]))
