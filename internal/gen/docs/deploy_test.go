package docgen_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/test/needs"
)

// TestActions checks that workflows name actions by commit, with the release after it.
func TestActions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	pinned := regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+\.\d+)?$`)
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

// TestContainers checks what SECURITY.md says about compose.yaml, deploy/kubernetes.yaml and the
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
	for _, line := range []string{"FROM scratch", "USER 65532:65532"} {
		if !bytes.Contains(read("Dockerfile"), []byte("\n"+line+"\n")) {
			t.Errorf("Dockerfile has no %s", line)
		}
	}
	if !bytes.Contains(read("Dockerfile"), []byte("\nHEALTHCHECK ")) {
		t.Error("Dockerfile has no health check")
	}
	byDigest := regexp.MustCompile(`^[\w./:-]+@sha256:[0-9a-f]{64}$`)
	for line := range strings.Lines(string(read("Dockerfile"))) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "FROM" && f[1] != "scratch" && !byDigest.MatchString(f[1]) {
			t.Errorf("Dockerfile: %s is not named by its digest", f[1])
		}
	}

	var compose struct {
		Services map[string]struct {
			Image       string
			Build       string
			User        string
			Environment map[string]string
			Command     []string
			Networks    []string
			Ports       []string
			ReadOnly    bool                    `yaml:"read_only"`
			Drop        []string                `yaml:"cap_drop"`
			Options     []string                `yaml:"security_opt"`
			Pids        int                     `yaml:"pids_limit"`
			Memory      string                  `yaml:"mem_limit"`
			CPUs        int                     `yaml:"cpus"`
			Health      struct{ Test []string } `yaml:"healthcheck"`
		} `yaml:"services"`
		Networks map[string]struct{ Internal bool }
	}
	if err := yaml.Unmarshal(read("compose.yaml"), &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		if s.User == "" || s.User == "0" || !s.ReadOnly || !slices.Contains(s.Drop, "ALL") ||
			!slices.Contains(s.Options, "no-new-privileges:true") || s.Pids == 0 || s.Memory == "" ||
			s.CPUs == 0 {
			t.Errorf("compose.yaml: %s has more rights than it needs: %+v", name, s)
		}
		if s.Build == "" && !byDigest.MatchString(s.Image) {
			t.Errorf("compose.yaml: the image %s is not named by its digest", s.Image)
		}
		if len(s.Health.Test) == 0 {
			t.Errorf("compose.yaml: %s has no health check", name)
		}
	}
	if len(compose.Services) != 2 || !compose.Networks["queue"].Internal {
		t.Errorf("compose.yaml: %d services, networks %v", len(compose.Services), compose.Networks)
	}
	// The App speaks plain HTTP: only a reverse proxy on the host reaches it, unless LISTEN is set.
	published := regexp.MustCompile(`^\$\{LISTEN:-([\d.]+):8080\}:8080$`)
	ports := compose.Services["compat"].Ports
	if len(ports) != 1 {
		t.Fatalf("compose.yaml: ports %v", ports)
	}
	if m := published.FindStringSubmatch(ports[0]); m == nil || !net.ParseIP(m[1]).IsLoopback() {
		t.Errorf("compose.yaml: the App can be reached from other machines: %v", ports)
	}
	if comment, _, _ := bytes.Cut(read("compose.yaml"), []byte("\nservices:")); !bytes.Contains(comment,
		[]byte("LISTEN=")) {
		t.Error("compose.yaml: the comment does not describe LISTEN")
	}
	redis := compose.Services["redis"]
	command := strings.Join(redis.Command, " ")
	for _, option := range []string{"--requirepass ", "--port 0 ", "--tls-port ", "--tls-cert-file "} {
		if !strings.Contains(command, option) {
			t.Errorf("compose.yaml: Redis is started without %s: %s", option, command)
		}
	}
	if !slices.Equal(redis.Networks, []string{"queue"}) || len(redis.Ports) > 0 {
		t.Errorf("compose.yaml: Redis can be reached: networks %v, ports %v", redis.Networks, redis.Ports)
	}
	if url := compose.Services["compat"].Environment["REDIS_URL"]; !strings.HasPrefix(url,
		"rediss://:${REDIS_PASSWORD:?") {
		t.Errorf("compose.yaml: the App connects to Redis at %s", url)
	}

	type container struct {
		Image     string
		Liveness  map[string]any `yaml:"livenessProbe"`
		Readiness map[string]any `yaml:"readinessProbe"`
		Security  struct {
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
		c.Resources.Limits["cpu"] == "" || !strings.Contains(c.Image, "@sha256:") ||
		len(c.Liveness) == 0 || len(c.Readiness) == 0 ||
		!slices.Contains(c.Env, struct{ Name, Value string }{"COMPAT_SANDBOX", "required"}) {
		t.Errorf("kubernetes.yaml: the container has more rights than it needs: %+v", c)
	}
	for _, kind := range []string{"Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"} {
		if _, ok := kinds[kind]; !ok {
			t.Errorf("kubernetes.yaml has no %s", kind)
		}
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(read("deploy/kustomization.yaml"), &kustomization); err != nil ||
		!slices.Equal(kustomization.Resources, []string{"kubernetes.yaml"}) {
		t.Errorf("kustomization.yaml: %+v, %v", kustomization, err)
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

// TestPreCommitHook checks which files the hooks for pre-commit get.
func TestPreCommitHook(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language, Files string
		Args, Stages               []string
		PassFilenames              *bool `yaml:"pass_filenames"`
		AlwaysRun                  bool  `yaml:"always_run"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil || len(hooks) != 2 {
		t.Fatalf("%+v, %v", hooks, err)
	}
	h := hooks[0]
	// wheels in dist/ are not tracked, so the hook must not depend on file names
	if d := hooks[1]; d.ID != "compat-dist" || d.Language != h.Language || d.Entry != h.Entry ||
		!d.AlwaysRun || d.PassFilenames == nil || *d.PassFilenames ||
		!slices.Equal(d.Args, []string{"dist/*.whl"}) || slices.Contains(d.Stages, "pre-commit") {
		t.Errorf("%+v", d)
	}
	if h.ID != "compat" || h.Language != "golang" ||
		h.Entry != "compat check --quiet --allow-pure" {
		t.Errorf("%+v", h)
	}
	files := regexp.MustCompile(h.Files)
	for name, want := range map[string]bool{
		"dist/a-1.0-py3-none-any.whl": true, "lib/liba.so": true, "lib/liba.so.1.2": true,
		"a.dylib": true, "_a.pyd": true, "a.dll": true, "addon.node": true,
		"a.so.md": false, "README.md": false, "also": false,
	} {
		if files.MatchString(name) != want {
			t.Errorf("%s: %t, want %t", name, !want, want)
		}
	}
}

// TestPackageManagers checks that a release only writes what belongs in repositories of others.
func TestPackageManagers(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type published struct {
		Homepage   string
		SkipUpload bool `yaml:"skip_upload"`
	}
	var release struct {
		Casks  []published `yaml:"homebrew_casks"`
		Scoops []published
	}
	if err := yaml.Unmarshal(data, &release); err != nil {
		t.Fatal(err)
	}
	all := slices.Concat(release.Casks, release.Scoops)
	if len(release.Casks) != 1 || len(release.Scoops) != 1 {
		t.Errorf("%+v", release)
	}
	for _, p := range all {
		if !p.SkipUpload || p.Homepage == "" {
			t.Errorf("%+v", p)
		}
	}
}

// TestComposeCommands checks that each documented command names the settings that compose.yaml
// requires, also to stop the containers.
func TestComposeCommands(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("docker compose +([^\n`]+)")
	seen := 0
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "compose.yaml")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllSubmatch(data, -1) {
			if bytes.HasPrefix(m[1], []byte("needs")) || bytes.HasPrefix(m[1], []byte("# needs")) {
				continue // a sentence
			}
			if seen++; !bytes.HasPrefix(m[1], []byte("--env-file compat.env ")) {
				t.Errorf("%s: docker compose %s has no --env-file", filepath.Base(file), m[1])
			}
		}
	}
	if seen < 6 {
		t.Errorf("%d commands were found", seen)
	}
}

// TestDoctorOfTheUnit starts deploy/compat-doctor with programs that show what systemd would get.
func TestDoctorOfTheUnit(t *testing.T) {
	shell := needs.Program(t, "sh", "a shell", "compat-doctor")
	deploy, dir := filepath.Join("..", "..", "..", "deploy"), t.TempDir()
	script, err := os.ReadFile(filepath.Join(deploy, "compat-doctor"))
	if err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(filepath.Join(deploy, "compat.service"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(deploy, "..", "docs", "config.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(unit), "\nSyslogIdentifier=compat\n") {
		t.Error("compat.service: the log lines have the name of env")
	}
	// The drop-in for PRIVATE_KEY_COMMAND replaces ExecStart.
	_, dropin, _ := strings.Cut(string(page), "\n    LoadCredential=\n")
	dropin, _, ok := strings.Cut(dropin, "\n\n")
	if !ok {
		t.Fatal("config.md has no drop-in for PRIVATE_KEY_COMMAND")
	}
	dropin = "[Service]\n" + strings.ReplaceAll(dropin, "    ", "") + "\n"
	system := filepath.Join(dir, "system")
	for name, text := range map[string]string{
		"compat-doctor": strings.ReplaceAll(string(script), "/run/systemd/system", system),
		"unit":          string(unit) + dropin,
		"systemctl":     "#!/bin/sh\n[ \"$1\" = daemon-reload ] || cat '" + dir + "/unit'\n",
		"systemd-run":   "#!/bin/sh\ncat '" + system + "'/*/*.conf\necho \"$@\"\nexit 1\n",
		"journalctl":    "#!/bin/sh\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(system, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := exec.CommandContext(t.Context(), shell, filepath.Join(dir, "compat-doctor")).Output()
	if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != 1 {
		t.Errorf("exit code of systemd-run: %v", err)
	}
	var started []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ExecStart=") || strings.HasPrefix(line, "Restart=") ||
			strings.HasPrefix(line, "User=") {
			started = append(started, strings.TrimSpace(line))
		}
	}
	if want := []string{"User=compat", "ExecStart=",
		"ExecStart=/usr/bin/env PRIVATE_KEY_PATH=%d/key COMPAT_DATA=/var/lib/compat /usr/bin/compat doctor",
		"ExecStart=", "ExecStart=/usr/bin/env COMPAT_DATA=/var/lib/compat /usr/bin/compat doctor",
	}; !slices.Equal(started, want) {
		t.Errorf("%q, want %q\n%s", started, want, out)
	}
	if !strings.Contains(string(out), "LoadCredential=key:") ||
		!strings.Contains(string(out), "--wait --pipe --unit=compat-doctor-") {
		t.Errorf("%s", out)
	}
	if left, err := os.ReadDir(system); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestScriptsOfThePackage checks what the package for Debian does to a running systemd: nothing starts.
func TestScriptsOfThePackage(t *testing.T) {
	shell := needs.Program(t, "sh", "a shell", "the scripts of the package for Debian")
	deploy, dir := filepath.Join("..", "..", "..", "deploy"), t.TempDir()
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(filepath.Join(dir, "systemctl"),
		[]byte("#!/bin/sh\necho \"$@\" >>'"+log+"'\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct{ script, argument, want string }{
		{"reload.sh", "configure", "daemon-reload\n"}, {"reload.sh", "upgrade", "daemon-reload\n"},
		{"stop.sh", "remove", "disable --now compat.service\n"}, {"stop.sh", "upgrade", ""},
	} {
		text, err := os.ReadFile(filepath.Join(deploy, c.script))
		if err != nil {
			t.Fatal(err)
		}
		for running, want := range map[string]string{dir: c.want, filepath.Join(dir, "none"): ""} {
			if err := os.WriteFile(log, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			script := strings.ReplaceAll(string(text), "/run/systemd/system", running)
			if out, err := exec.CommandContext(t.Context(), shell, "-c", script, "sh",
				c.argument).CombinedOutput(); err != nil {
				t.Errorf("%+v: %v\n%s", c, err, out)
			}
			if got, err := os.ReadFile(log); err != nil || string(got) != want {
				t.Errorf("%+v: %q, %v", c, got, err)
			}
		}
	}
}

// The volumes of the deployments have room for the caches, and for the downloads of some workers.
func TestVolumesFitTheCaches(t *testing.T) {
	const wheels = 3 << 30 // of the package index
	least := int64(artifact.MaxCache + wheels + 2*artifact.MaxTotal)
	for file, find := range map[string]string{
		"kubernetes.yaml":         `name: data, emptyDir: \{sizeLimit: (\d+)Gi\}`,
		"helm/compat/values.yaml": `(?m)^data: (\d+)Gi`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(find).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s has no volume for data", file)
			continue
		}
		n, err := strconv.ParseInt(string(found[1]), 10, 64)
		if err != nil || n<<30 < least {
			t.Errorf("%s has %d GiB for data, want %d (%v)", file, n, least>>30, err)
		}
	}
}

// Whoever has a fork runs the same checks, and each job says which rights it needs.
func TestChecksOfForks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", ".github", "workflows", "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		On          map[string]any
		Permissions map[string]string
		Jobs        map[string]struct {
			Permissions map[string]string
			Steps       []struct{ Uses, Run string }
		}
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	if _, pulls := w.On["pull_request"]; !pulls || w.Permissions == nil || len(w.Permissions) > 0 {
		t.Errorf("events %v, permissions %v", w.On, w.Permissions)
	}
	if _, secrets := w.On["pull_request_target"]; secrets || bytes.Contains(text, []byte("secrets.")) {
		t.Error("a pull request of a fork may reach secrets")
	}
	for job, step := range map[string]string{
		"test": ".ci/run", "codeql": "github/codeql-action/analyze", "scorecard": "ossf/scorecard-action",
		"dependencies": "actions/dependency-review-action",
		"fuzz":         "google/clusterfuzzlite/actions/run_fuzzers",
	} {
		found := false
		for _, s := range w.Jobs[job].Steps {
			found = found || s.Run == step || strings.HasPrefix(s.Uses, step+"@")
		}
		if !found || len(w.Jobs[job].Permissions) == 0 {
			t.Errorf("the job %s has no step %s, or no permissions", job, step)
		}
	}
}

// Each folder of testdata with binaries has a script that makes them, or a page about their origin.
func TestBinariesHaveAnOrigin(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	binary := regexp.MustCompile(`\.(so|btf|whl|gz|bz2|zst|deb|rpm|apk|dylib|dll|exe|pyd|o|a)$`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/testdata/") ||
			!binary.MatchString(path) {
			return err
		}
		for _, origin := range []string{"README.md", "build.sh"} {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), origin)); err == nil {
				return nil
			}
		}
		t.Errorf("%s: its folder has neither a README.md nor a build.sh", path)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
