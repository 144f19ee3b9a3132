"""Entry point of the component plugin: `pulumi package add` finds it beside PulumiPlugin.yaml."""

from daiku_infra.__main__ import main

main()
