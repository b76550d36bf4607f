package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/loopback"
)

// With a facts store, an environment has the same report as without, and no wheel is requested. If
// the store does not answer, the wheels are read, and the report says so.
func TestFactsStore(t *testing.T) {
	module := strings.Replace(jitUser, "elf x86_64\n", "elf x86_64\nneeded libm.so.6\n", 1)
	files := map[string]map[string][]byte{
		"nvidia-nvjitlink-cu12": {
			"nvidia_nvjitlink_cu12-12.8.93-py3-none-manylinux2014_x86_64.whl": jitWheel(t, "12.8.93",
				"__nvJitLinkCreate_12_8"),
		},
		"widget": {
			"widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl": madeWheel(t, "widget", "1.0",
				[]string{"nvidia-nvjitlink-cu12"}, "widget/_w.cpython-312-x86_64-linux-gnu.so", module),
		},
	}
	server := loopback.Server(t, &packageIndex{files: files})
	dir := t.TempDir()
	pins := filepath.Join(dir, "requirements.txt")
	text := "nvidia-nvjitlink-cu12==12.8.93\nwidget==1.0\n"
	if err := os.WriteFile(pins, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	compat := func(vars map[string]string, args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = run(context.Background(), args, environment{
			Getenv: func(n string) (string, bool) {
				switch n {
				case "COMPAT_DATA": // a new cache for each call
					return filepath.Join(t.TempDir(), "data"), true
				case "PIP_INDEX_URL":
					return server.URL + "/simple", true
				case "PIP_CONFIG_FILE":
					return os.DevNull, true
				}
				v, ok := vars[n]
				return v, ok
			},
			In: strings.NewReader(""), Out: &stdout, Err: &stderr,
		})
		return code, stdout.String(), stderr.String()
	}
	key, store := filepath.Join(dir, "facts.pem"), filepath.Join(dir, "facts")
	code, public, errs := compat(nil, "facts", "key", key)
	if code != 0 {
		t.Fatal(errs)
	}
	public = strings.TrimSpace(public)
	code, out, errs := compat(nil, "facts", "add", "--to", store, "--key", key, "-r", pins)
	if code != 0 || strings.Count(out, ": added ") != 2 {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	if _, out, _ = compat(nil, "facts", "add", "--to", store, "--key", key, "-r", pins); strings.Count(
		out, "is in the store") != 2 {
		t.Errorf("the second time\n%s", out)
	}
	env := []string{"env", "--requirement", pins, "--python", "3.12", "--verbose"}
	wantCode, want, _ := compat(nil, env...)
	for name, address := range map[string]string{
		"folder": store,
		"web":    loopback.Server(t, http.FileServer(http.Dir(store))).URL,
	} {
		vars := map[string]string{"COMPAT_FACTS": address, "COMPAT_FACTS_KEY": public}
		code, got, errs := compat(vars, env...)
		if code != wantCode || got != want {
			t.Errorf("%s: exit %d\n%s\nwithout a store: exit %d\n%s", name, code, got, wantCode, want)
		}
		if !regexp.MustCompile(`: 2 requests, .*, facts of 2 wheels from the facts store`).MatchString(
			errs) {
			t.Errorf("%s: %s", name, errs)
		}
	}
	down := loopback.Server(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	code, out, _ = compat(map[string]string{"COMPAT_FACTS_KEY": public},
		append(env, "--facts", down.URL)...)
	if code != wantCode || !strings.Contains(out, "could not be read (it answers 502 Bad Gateway)") {
		t.Errorf("a store that fails: exit %d\n%s", code, out)
	}
	code, _, errs = compat(nil, append(env, "--facts", down.URL)...)
	if code != exitUsage || !strings.Contains(errs, "set COMPAT_FACTS_KEY") {
		t.Errorf("a server without a key: exit %d, %s", code, errs)
	}
}
