"""Generates docs/policies.md: `python -m azure_gpu_policies.page` prints it."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from azure_gpu_policies.model import DATED, EXCEPTIONS, Policy, Setting
from azure_gpu_policies.policies import ALL

_BEGIN = """\
# Policies

<!-- Written by `make renew` from components/policy/azure_gpu_policies. -->

A policy pack applies the library's rules to any Pulumi program: one in TypeScript that declares an AKS cluster directly, one in
YAML, an existing one. It reads the resources of pulumi-azure-native, in each of its API versions, and of pulumi-kubernetes, and
reports each problem with its place, what is allowed and a fix. Sizes, dates and prices come from [the catalog](catalog.md), so
the pack reports each retirement that the catalog knows.

```sh
git clone --depth 1 <repository> azure-gpu                                # once; or --branch <version>
pulumi -C azure-gpu/components/policy install                             # once: the pack's own environment, folder `venv`
pulumi preview --policy-pack azure-gpu/components/policy                  # in your program's folder; the same with `up`
```

```
Policies:
    ❌ azure-gpu@v0.2.0 (local: azure-gpu/components/policy)
        - [mandatory] [severity: high]  gpu-retired  (azure-native:batch:Pool: train)
          Sizes, GPU SKUs, images, Kubernetes versions and parts of services aren't used after their retirement.
          Pool("train").vmSize: Standard_NC6 retired on 2023-09-06; checked as of 2026-11-26; given: 'Standard_NC6';
          fix: choose Standard_NC4as_T4_v3 (0.526 USD/hour (list price of 2026-06-18)), or …; source: …
```

An advisory policy only reports. A mandatory one fails the preview, and the update before it creates the resource; a policy of the
whole stack is evaluated when all resources are declared, so in an update it comes last. Run `preview` first, as `up` does by
default.

## Levels, settings, exceptions
A file of JSON, for `--policy-pack-config`:

"""
CONFIGURED: dict[str, Any] = {
    "gpu-retired": {"enforcementLevel": "advisory", "exceptions": ["*:Pool::legacy"]},
    "allowed-regions": {"enforcementLevel": "mandatory", "regions": ["westeurope", "swedencentral"]},
    "public-endpoint": {"identity_is_enough": False},
    "gpu-price-stack": {"enforcementLevel": "mandatory", "usd_hour": 100},
    "gpu-scale-to-zero": "disabled",
}
_AFTER = """
`all` in place of a policy's name sets the level of all policies. Every policy has `exceptions`. Policies that depend on a date
have `as_of`, the date, and `as_of_tag`, whether a resource's tag `as-of` may set another one: stacks of this project with an
`as_of` have it.

| setting of many | default | |
| --- | --- | --- |
"""
_LIST = """
## The policies

| policy | level | severity | scope | rule |
| --- | --- | --- | --- | --- |
"""
_OWN = """
Settings of one policy:

| policy | setting | default | |
| --- | --- | --- | --- |
"""
_END = """
## In CI, and for all stacks of an organization
In GitHub Actions, with Pulumi's own action:

```yaml
- run: git clone --depth 1 <repository> azure-gpu && pulumi -C azure-gpu/components/policy install
- uses: pulumi/actions@v6
  with: {command: preview, stack-name: dev, policyPacks: azure-gpu/components/policy, policyPackConfigs: policies.json}
```

In Pulumi Cloud a pack is published, and then runs wherever the organization's stacks are previewed or updated. A pack is
published as one folder, so copy the library into it:

```sh
cp -r azure-gpu/components/azure_gpu azure-gpu/components/policy/
cd azure-gpu/components/policy && pulumi policy publish <organization>
pulumi policy enable <organization>/azure-gpu latest --config policies.json
```

A test checks that such a folder is complete; publishing needs an account and wasn't tried.

`python -m operations review --policy-pack components/policy` shows what a change breaks on the lines of the stack file:
[pull requests](pull-requests.md).

## Limits
- A value that is known only during the update isn't a violation in a preview. Where the key itself is the violation, such as
  `password`, its value doesn't matter. An update evaluates each resource again, with the values known then.
- The region of a pool is that of its cluster or account, where the same stack declares it; of anything else, its own, its
  resource group's or the provider's. Where none is known, regions and prices aren't checked.
- Public addresses of virtual machines and Services of Kubernetes aren't checked.
- Values of Helm charts, Resource Manager templates, and resources of other providers aren't checked.
- A price is the list price of Linux machines on the date beside it. Container groups have none; unknown prices are reported
  beside a price that exceeds a limit, and never exceed one by themselves. Machines of which some may be Spot are priced as if
  none were.
- Images, Kubernetes versions and sizes that are newer than the catalog pass.
- Secrets are recognized by a variable's name or by their form, and never shown.

The shipped stacks of this project violate one policy on purpose, an advisory one: `gpu-scale-to-zero`. A pool and the cluster of
the documents' stack have fixed numbers of nodes, as in the pages of 2018 and 2019, and the production stack keeps one T4, so that
a first request doesn't wait for a node; `idle_machines` allows some.
"""
_COMMON = (EXCEPTIONS, *DATED)


def page() -> str:
    return "".join(_lines())


def _lines() -> Iterator[str]:
    yield _BEGIN
    yield f"```json\n{json.dumps(CONFIGURED, indent=2)}\n```\n"
    yield _AFTER
    for each in _COMMON:
        yield f"| `{each.name}` | {_shown(each)} | {each.schema['description']} |\n"
    yield _LIST
    for policy in ALL:
        of = "a resource" if policy.of_resource is not None else "the stack"
        yield f"| `{policy.name}` | {policy.level} | {policy.severity} | {of} | {policy.description} {policy.fix} |\n"
    yield _OWN
    for policy in ALL:
        for setting in _own(policy):
            yield f"| `{policy.name}` | `{setting.name}` | {_shown(setting)} | {setting.schema['description']} |\n"
    yield _END


def _own(policy: Policy) -> Sequence[Setting]:
    return [each for each in policy.own_settings if each not in _COMMON]


def _shown(setting: Setting) -> str:
    default = setting.default
    if isinstance(default, list):
        return ", ".join(f"`{each}`" for each in setting.schema["default"]) or "none"
    return f"`{json.dumps(default)}`" if default != "" else "none"


if __name__ == "__main__":
    sys.stdout.write(page())
