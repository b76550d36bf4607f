package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/table"
)

// readPolicies repacks auditwheel's two Linux policy files as one list, and names the version they
// are of.
func readPolicies(
	ctx context.Context,
	wheel, cache string,
) (data []byte, version string, err error) {
	if wheel == "" {
		dir, err := os.MkdirTemp("", "platformgen")
		if err != nil {
			return nil, "", err
		}
		defer os.RemoveAll(dir)
		if said, err := exec.CommandContext(ctx, "pip", "download", "--quiet", "--no-deps", "--dest",
			dir, "auditwheel").CombinedOutput(); err != nil {
			return nil, "", fmt.Errorf("pip download auditwheel: %w: %s", err, said)
		}
		found, _ := filepath.Glob(filepath.Join(dir, "auditwheel-*.whl"))
		if len(found) != 1 {
			return nil, "", fmt.Errorf("pip downloaded %d wheels of auditwheel, want 1", len(found))
		}
		wheel = found[0]
	}
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return nil, "", err
	}
	defer z.Close()
	var all []*table.Policy
	for _, name := range []string{"manylinux", "musllinux"} {
		f, err := z.Open("auditwheel/policy/" + name + "-policy.json")
		if err != nil {
			return nil, "", err
		}
		text, err := io.ReadAll(f)
		if err != nil {
			return nil, "", err
		}
		var policies []*table.Policy
		if err := json.Unmarshal(text, &policies); err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		for _, p := range policies {
			if p.Name != "linux" { // promises nothing
				all = append(all, p)
			}
		}
	}
	parts := strings.Split(filepath.Base(wheel), "-")
	if len(parts) < 2 {
		return nil, "", fmt.Errorf("%s is not named like a wheel", filepath.Base(wheel))
	}
	return table.EncodePolicies(all), "auditwheel " + parts[1], nil
}
