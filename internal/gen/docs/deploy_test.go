package docgen_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestActions checks that workflows name actions by commit, with the release after it.
func TestActions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			_, action, uses := strings.Cut(strings.TrimSpace(line), "uses: ")
			if uses && !pinned.MatchString(action) {
				t.Errorf("%s: %s is not named by its commit", filepath.Base(file), action)
			}
		}
	}
}

// TestContainers checks what SECURITY.md says of compose.yaml, deploy/kubernetes.yaml and the
// Dockerfile.
func TestContainers(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if !bytes.Contains(read("Dockerfile"), []byte("\nFROM scratch\n")) ||
		!bytes.Contains(read("Dockerfile"), []byte("\nUSER 65532:65532\n")) {
		t.Error("the image is not made from scratch for user 65532")
	}

	var compose struct {
		Services map[string]struct {
			User     string
			ReadOnly bool     `yaml:"read_only"`
			Drop     []string `yaml:"cap_drop"`
			Options  []string `yaml:"security_opt"`
			Pids     int      `yaml:"pids_limit"`
			Health   struct{ Test []string }
		} `yaml:"services"`
		Networks map[string]struct{ Internal bool }
	}
	if err := yaml.Unmarshal(read("compose.yaml"), &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		if s.User == "" || s.User == "0" || !s.ReadOnly || !slices.Contains(s.Drop, "ALL") ||
			!slices.Contains(s.Options, "no-new-privileges:true") || s.Pids == 0 {
			t.Errorf("compose.yaml: %s has more rights than it needs: %+v", name, s)
		}
	}
	if len(compose.Services) != 2 || !compose.Networks["queue"].Internal {
		t.Errorf("compose.yaml: %d services, networks %v", len(compose.Services), compose.Networks)
	}

	type container struct {
		Security struct {
			Escalation *bool                   `yaml:"allowPrivilegeEscalation"`
			ReadOnly   bool                    `yaml:"readOnlyRootFilesystem"`
			Can        struct{ Drop []string } `yaml:"capabilities"`
		} `yaml:"securityContext"`
		Env       []struct{ Name, Value string }
		Resources struct{ Limits map[string]string }
	}
	type object struct {
		Kind string
		Spec struct {
			Types    []string `yaml:"policyTypes"`
			Egress   []struct{ Ports []struct{ Port int } }
			Template struct {
				Spec struct {
					Token    *bool `yaml:"automountServiceAccountToken"`
					Security struct {
						NonRoot bool `yaml:"runAsNonRoot"`
					} `yaml:"securityContext"`
					Containers []container
				}
			}
		}
	}
	kinds := map[string]object{}
	documents := yaml.NewDecoder(bytes.NewReader(read("deploy/kubernetes.yaml")))
	for {
		var o object
		err := documents.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kinds[o.Kind] = o
	}
	pod := kinds["Deployment"].Spec.Template.Spec
	if !pod.Security.NonRoot || pod.Token == nil || *pod.Token || len(pod.Containers) != 1 {
		t.Fatalf("kubernetes.yaml: the pod has more rights than it needs: %+v", pod)
	}
	c := pod.Containers[0]
	if c.Security.Escalation == nil || *c.Security.Escalation || !c.Security.ReadOnly ||
		!slices.Equal(c.Security.Can.Drop, []string{"ALL"}) || c.Resources.Limits["memory"] == "" ||
		!slices.Contains(c.Env, struct{ Name, Value string }{"COMPAT_SANDBOX", "required"}) {
		t.Errorf("kubernetes.yaml: the container has more rights than it needs: %+v", c)
	}
	policy := kinds["NetworkPolicy"].Spec
	if !slices.Equal(policy.Types, []string{"Ingress", "Egress"}) || len(policy.Egress) == 0 {
		t.Errorf("kubernetes.yaml: the network policy is %+v", policy)
	}
	for _, to := range policy.Egress {
		for _, p := range to.Ports {
			if !slices.Contains([]int{53, 443, 6379}, p.Port) {
				t.Errorf("kubernetes.yaml: the App may connect to port %d", p.Port)
			}
		}
	}
}
