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
    "settings": {"COMPAT_WORKERS": 4, "COMPAT_PUBLIC_URL": "https://compat.example.com"},
    "ingress": {"enabled": True, "host": "compat.example.com", "className": "nginx", "tls": "certificate"},
}

report = chart.lint(folder, image, strict=True)
failures = [m for m in report["messages"] if m["severity"] > 1] + report["errors"]
for values in ({}, more):
    for name, text in chart.Chart.load(folder).render({**image, **values}, name="compat").items():
        for document in yaml.safe_load_all(text) if name.endswith(".yaml") else []:
            for version in ("1.28", "1.34"):
                kubernetes_validate.validate(document, version, strict=True)
            print("valid:", document["kind"])
for wrong in ({}, {**image, "settings": {"WEBHOOK_SECRET": "x"}}, {**image, "image": {"repository": "x", "digest": "latest"}}):
    try:
        chart.Chart.load(folder).render(wrong)
        failures.append(f"{wrong} is accepted")
    except Exception as refused:
        print("refused:", str(refused).splitlines()[-1])
print(*failures, sep="\n")
sys.exit(bool(failures))
