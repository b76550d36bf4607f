package docgen_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v4"
)

// chart renders the Helm chart as a release with the name compat.
func chart(t *testing.T, values map[string]any) []byte {
	t.Helper()
	text, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// render renders the chart. It has the functions of Helm that the chart uses.
func render(t *testing.T, values map[string]any) ([]byte, error) {
	t.Helper()
	all := template.New("chart").Option("missingkey=error")
	indent := func(n int, s string) string {
		return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
	}
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"nindent": indent,
		"hasKey": func(m map[string]any, key string) bool {
			_, ok := m[key]
			return ok
		},
		"kindIs":    func(kind string, v any) bool { return reflect.ValueOf(v).Kind().String() == kind },
		"floor":     func(v any) float64 { return math.Floor(reflect.ValueOf(v).Float()) },
		"int64":     func(v any) int64 { return int64(reflect.ValueOf(v).Float()) },
		"hasPrefix": func(prefix, s string) bool { return strings.HasPrefix(s, prefix) },
		"list":      func(v ...any) []any { return v },
		"fail":      func(message string) (string, error) { return "", errors.New(message) },
		"quote":     func(s string) string { return fmt.Sprintf("%q", s) },
		"toString":  func(v any) string { return fmt.Sprint(v) },
		"int":       func(n int) int { return n },
		"min":       func(a, b int) int { return min(a, b) },
		"toYaml": func(v any) (string, error) {
			b, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(b), "\n"), err
		},
		"required": func(message string, v any) (any, error) {
			if v == "" {
				return nil, errors.New(message)
			}
			return v, nil
		},
	})
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "deploy", "helm", "compat", "templates", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	data := map[string]any{
		"Values": values, "Release": map[string]any{"Name": "compat", "Namespace": "default"},
	}
	var b bytes.Buffer
	for _, f := range files {
		b.WriteString("---\n")
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, filepath.Base(f), data); err != nil {
			return nil, err
		}
		if strings.HasSuffix(f, ".yaml") {
			b.Write(text.Bytes())
		}
	}
	return b.Bytes(), nil
}

// objects returns the objects of a manifest by kind, without their labels.
func objects(t *testing.T, manifest []byte) map[string]map[string]any {
	t.Helper()
	found := map[string]map[string]any{}
	d := yaml.NewDecoder(bytes.NewReader(manifest))
	for {
		var o map[string]any
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifest)
		}
		kind, ok := o["kind"].(string)
		if !ok {
			continue
		}
		withoutLabels(o)
		found[kind] = o
	}
}

func withoutLabels(v any) {
	switch v := v.(type) {
	case map[string]any:
		if metadata, ok := v["metadata"].(map[string]any); ok {
			delete(metadata, "labels")
		}
		for _, x := range v {
			withoutLabels(x)
		}
	case []any:
		for _, x := range v {
			withoutLabels(x)
		}
	}
}

// TestHelm checks that the chart and deploy/kubernetes.yaml describe the same objects.
func TestHelm(t *testing.T) {
	deploy := filepath.Join("..", "..", "..", "deploy")
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(deploy, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(read("helm/compat/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	values["image"] = map[string]any{"repository": "IMAGE", "digest": "sha256:DIGEST"}
	want, have := objects(t, read("kubernetes.yaml")), objects(t, chart(t, values))
	if len(want) != 5 || len(have) != len(want) {
		t.Errorf("%d objects, the chart has %d", len(want), len(have))
	}
	for kind, w := range want {
		if !reflect.DeepEqual(have[kind], w) {
			a, _ := yaml.Marshal(w)
			b, _ := yaml.Marshal(have[kind])
			t.Errorf("kubernetes.yaml has\n%s\nthe chart has\n%s", a, b)
		}
	}

	scaling, ok := values["autoscaling"].(map[string]any)
	if !ok {
		t.Fatalf("autoscaling: %v", values["autoscaling"])
	}
	scaling["maxReplicas"] = 1
	one := objects(t, chart(t, values))
	spec, _ := one["Deployment"]["spec"].(map[string]any)
	if len(one) != len(want)-2 || one["HorizontalPodAutoscaler"] != nil ||
		one["PodDisruptionBudget"] != nil || spec["replicas"] != 1 ||
		!reflect.DeepEqual(spec["strategy"], map[string]any{"type": "Recreate"}) {
		t.Errorf("with one replica: %v", one)
	}

	// Another autoscaler, such as KEDA's, sets the number of replicas.
	scaling["maxReplicas"], scaling["enabled"] = 10, false
	other := objects(t, chart(t, values))
	if !reflect.DeepEqual(other["Deployment"], want["Deployment"]) ||
		other["HorizontalPodAutoscaler"] != nil || other["PodDisruptionBudget"] == nil {
		t.Errorf("with another autoscaler: %v", other)
	}

	// Helm reads numbers as float64.
	values["settings"] = map[string]any{"APP_ID": 1234567.0, "COMPAT_WORKERS": 4, "LOG_LEVEL": "debug"}
	values["metrics"] = map[string]any{"enabled": true}
	values["ingress"] = map[string]any{
		"enabled": true, "className": "nginx", "host": "compat.example.com", "tls": "certificate",
		"annotations": map[string]any{"nginx.ingress.kubernetes.io/proxy-body-size": "25m"},
	}
	values["extraVolumes"] = []any{map[string]any{"name": "authority"}}
	values["extraVolumeMounts"] = []any{map[string]any{"name": "authority", "mountPath": "/certificates"}}
	text := string(chart(t, values))
	for _, line := range []string{
		`- {name: APP_ID, value: "1234567"}`, `- {name: COMPAT_WORKERS, value: "4"}`,
		`- {name: LOG_LEVEL, value: "debug"}`, `- {name: COMPAT_ADMIN_ADDR, value: ":9090"}`,
		"- {name: metrics, port: 9090, targetPort: metrics}", "kind: Ingress", "ingressClassName: nginx",
		`- host: "compat.example.com"`, "secretName: certificate", "proxy-body-size: 25m",
		"mountPath: /certificates",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the chart has no %s:\n%s", line, text)
		}
	}
	objects(t, []byte(text))

	for name, message := range map[string]string{
		"REDIS_URL":   "settings.REDIS_URL is a secret; it belongs in the secrets",
		"COMPAT_DATA": "settings.COMPAT_DATA is set by the chart; remove it",
	} {
		values["settings"] = map[string]any{name: "x"}
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want %s", name, err, message)
		}
	}
	values["settings"] = map[string]any{}
	for label, wrong := range map[string]bool{
		"app": true, "app.kubernetes.io/name": true, "application": false,
	} {
		values["podLabels"] = map[string]any{label: "x"}
		if _, err := render(t, values); (err != nil) != wrong {
			t.Errorf("%s: %v", label, err)
		}
	}
}
