"""The configuration of NVIDIA's device plugin in a ConfigMap, as the `sharing` of a pool."""

import re
from typing import Any

from azure_gpu.catalog.services.aks import device_plugin
from azure_gpu.catalog.services.aks.device_plugin import MIG_PREFIX
from azure_gpu.formats import located_yaml
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, Reading, given, mapping
from azure_gpu.formats.document import Document
from azure_gpu.formats.kubernetes_manifest import Manifest, metadata_of
from azure_gpu.formats.lenient_json import member

KIND = "ConfigMap"
MIG = re.compile(r"(\d)g\.\d+gb")


def read(of: BodyReader, manifest: Manifest) -> None:
    metadata_of(of, KIND)
    of.inside("metadata").leave_given("name", "the stack makes the ConfigMap of its device plugin")
    data = mapping(of.raw("data"))
    found = False
    for name, text in data.items():
        if isinstance(text, str) and _is_plugin_config(text):
            found = True
            _plugin_config(of, str(name), text, manifest)
    if not found:
        of.leave("kind", "a ConfigMap has no key in the stack file", "set environment of the job or service")


def _is_plugin_config(text: str) -> bool:
    return bool(re.search(r"^\s*(?:sharing|flags):", text, re.MULTILINE)) and "version" in text


def _plugin_config(of: BodyReader, name: str, text: str, manifest: Manifest) -> None:
    """One key of the ConfigMap, which nodes choose by a label: the sharing of one pool here."""
    outer = of.reading.document
    path = member(of.whole_path("data"), name)
    line = outer.line_of(path)
    document, problems = located_yaml.read(text, outer.file)
    if document is None:
        of.reading.leave(path, f"this isn't YAML: {problems[0].message}" if problems else "this isn't YAML")
        return
    lines = {inner: line + number for inner, number in document.lines.items()}
    reading = Reading(Document(outer.file, document.value, lines))
    config = BodyReader(document.value, "", reading)
    config.skip("version")
    flags = config.inside("flags")
    mig = flags.text("migStrategy")
    take("plugin flags", flags, told={"mig": mig})
    sharing = config.inside("sharing")
    settings: dict[str, Any] = {}
    for kind, strategy in (("timeSlicing", "time-slicing"), ("mps", "mps")):
        if kind not in sharing:
            continue
        shared = sharing.inside(kind)
        rename = shared.flag("renameByDefault")
        shared.leave_given("failRequestsGreaterThanOne", "a pod gets as many shares as it requests", "request 1")
        for resource in shared.items("resources"):
            of_resource = resource.text("name") or ""
            replicas = resource.whole("replicas")
            for ignored in device_plugin.IGNORED_RESOURCE_KEYS:
                resource.leave_given(ignored, "the device plugin ignores it", "set rename of sharing")
            if settings:
                resource.leave(
                    "name", f"{replicas} replicas of {of_resource}: a pool shares one resource", "set another pool's sharing"
                )
                continue
            settings = given(strategy=strategy, replicas=replicas, rename=rename or None)
            if match := MIG.match(of_resource.removeprefix(MIG_PREFIX)):
                settings["profile"] = f"MIG{match[1]}g"
    if mig in ("single", "mixed") and "profile" in settings:
        settings["mig_strategy"] = mig
    elif mig in ("single", "mixed") and not settings:
        settings = {"strategy": "mig", "mig_strategy": mig}
        manifest.notes.append(
            f"{config.at('flags')}: sharing requires the profile into which MIG cuts a GPU, such as profile: MIG1g"
        )
    for problem in device_plugin.check(mapping(document.value), ""):
        reading.leave(problem.path.strip("."), problem.message, problem.fix)
    config.rest()
    of.reading.left += reading.left
    if settings:
        key = re.sub(r"[^a-z0-9]", "", name.lower().removesuffix(".yaml"))[:12] or "gpu"
        key = key if key[0].isalpha() else f"g{key}"[:12]
        manifest.pools[key] = {"sharing": settings}
        manifest.notes.append(
            f"{outer.file}:{line}: {name} is the sharing of the pool {key}: set size of the pool, which is not in a ConfigMap"
        )
