"""Lints the Helm chart with Helm's library and validates its objects against Kubernetes' schemas.

    pip install helm-python-sdk kubernetes-validate
    python internal/test/install/chart.py
"""

import pathlib
import sys

import kubernetes_validate
import yaml
from helm_python import chart

folder = pathlib.Path(__file__).parents[3] / "deploy/helm/compat"
image = {"image": {"repository": "registry.example.com/compat", "digest": "sha256:" + "0" * 64}}
more = {
    "settings": {"APP_ID": 1234567, "COMPAT_WORKERS": 4, "COMPAT_PUBLIC_URL": "https://compat.example.com"},
    "metrics": {"enabled": True},
    "ingress": {"enabled": True, "host": "compat.example.com", "className": "nginx", "tls": "certificate",
                "annotations": {"nginx.ingress.kubernetes.io/proxy-body-size": "25m"}},
}
placed = {
    "imagePullSecrets": [{"name": "registry"}],
    "podLabels": {"team": "build"},
    "podAnnotations": {"example.com/scrape": "true"},
    "nodeSelector": {"kubernetes.io/arch": "amd64"},
    "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "compat"}}}}]}},
    "extraVolumes": [{"name": "authority", "configMap": {"name": "authority"}}],
    "extraVolumeMounts": [{"name": "authority", "mountPath": "/etc/compat/certificates", "readOnly": True}],
    "networkPolicy": {"redisPorts": [6379, 26379], "extraEgress": [{"ports": [{"protocol": "TCP", "port": 3128}]}]},
}
single = {"autoscaling": {"maxReplicas": 1}}
keda = {"autoscaling": {"enabled": False}}
replaced = {"settings": {"COMPAT_SANDBOX": "auto", "PRIVATE_KEY_COMMAND": "/helper key"}}


def rendered(values):
    """The objects of the chart by kind."""
    texts = chart.Chart.load(folder).render({**image, **values}, name="compat").items()
    return {o["kind"]: o for name, text in texts if name.endswith(".yaml") for o in yaml.safe_load_all(text) if o}


def pod(values):
    return rendered(values)["Deployment"]["spec"]["template"]


report = chart.lint(folder, image, strict=True)
failures = [m for m in report["messages"] if m["severity"] > 1] + report["errors"]
for values in ({}, more, placed, replaced, single, keda):
    for kind, document in rendered(values).items():
        for version in ("1.28", "1.34"):
            kubernetes_validate.validate(document, version, strict=True)
        print("valid:", kind)
    names = [v["name"] for v in pod(values)["spec"]["containers"][0]["env"]]
    if len(names) != len(set(names)):
        failures.append(f"a variable is set twice: {names}")
for name in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity"):
    if pod(placed)["spec"].get(name) != placed[name]:
        failures.append(f"{name}: {pod(placed)['spec'].get(name)}")
variables = {v["name"]: v.get("value") for v in pod(more)["spec"]["containers"][0]["env"]}
if (variables["APP_ID"], variables["COMPAT_WORKERS"], variables["COMPAT_ADMIN_ADDR"]) != ("1234567", "4", ":9090"):
    failures.append(f"settings: {variables}")
if [p["name"] for p in rendered(more)["Service"]["spec"]["ports"]] != ["http", "metrics"]:
    failures.append(f"service: {rendered(more)['Service']}")
if rendered(more)["Ingress"]["metadata"]["annotations"] != more["ingress"]["annotations"]:
    failures.append(f"ingress: {rendered(more)['Ingress']}")
if placed["extraVolumes"][0] not in pod(placed)["spec"]["volumes"]:
    failures.append(f"volumes: {pod(placed)['spec']['volumes']}")
if placed["extraVolumeMounts"][0] not in pod(placed)["spec"]["containers"][0]["volumeMounts"]:
    failures.append(f"mounts: {pod(placed)['spec']['containers'][0]['volumeMounts']}")
kinds = set(rendered(keda))
if kinds != set(rendered({})) - {"HorizontalPodAutoscaler"} or "replicas" in rendered(keda)["Deployment"]["spec"]:
    failures.append(f"without the autoscaler: {kinds}")
metadata = pod(placed)["metadata"]
if metadata["labels"].get("team") != "build" or metadata["annotations"] != placed["podAnnotations"]:
    failures.append(f"metadata of the pod: {metadata}")
egress = rendered(placed)["NetworkPolicy"]["spec"]["egress"]
if {p["port"] for rule in egress for p in rule["ports"]} != {53, 443, 3128, 6379, 26379}:
    failures.append(f"egress: {egress}")
if any(v["name"] == "PRIVATE_KEY_PATH" for v in pod(replaced)["spec"]["containers"][0]["env"]):
    failures.append("PRIVATE_KEY_PATH is set with PRIVATE_KEY_COMMAND")
for values, several in (({}, True), (single, False)):
    variables = {v["name"]: v for v in pod(values)["spec"]["containers"][0]["env"]}
    if ("REDIS_URL" in variables) != several:
        failures.append(f"{values}: the pod requires REDIS_URL: {not several}")
    if ("HorizontalPodAutoscaler" in rendered(values)) != several:
        failures.append(f"{values}: there is an autoscaler: {not several}")
    spec = rendered(values)["Deployment"]["spec"]
    strategy = {"replicas": 1, "strategy": {"type": "Recreate"}}
    if {name: spec[name] for name in strategy if name in spec} != ({} if several else strategy):
        failures.append(f"{values}: {spec}")
for least, most in ((2, 10), (5, 3)):
    scaler = rendered({"autoscaling": {"minReplicas": least, "maxReplicas": most}})["HorizontalPodAutoscaler"]["spec"]
    if (scaler["minReplicas"], scaler["maxReplicas"]) != (min(least, most), most):
        failures.append(f"replicas: {scaler}")
for wrong in (
    {},
    {**image, "settings": {"WEBHOOK_SECRET": "x"}},
    {**image, "settings": {"PRIVATE_KEY_PATH": "/key"}},
    {**image, "image": {"repository": "x", "digest": "latest"}},
    {**image, "networkPolicy": {"redisPort": 6380}},
    {**image, "networkPolicy": {"extraEgress": {"port": 3128}}},
    {**image, "imagePullSecrets": ["registry"]},
    {**image, "podLabels": {"team": 1}},
    {**image, "podLabels": {"app": "other"}},
):
    try:
        chart.Chart.load(folder).render(wrong)
        failures.append(f"{wrong} is accepted")
    except Exception as refused:
        print("refused:", str(refused).splitlines()[-1])
print(*failures, sep="\n")
sys.exit(bool(failures))
