package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// readPolicies repacks auditwheel's two Linux policy files as one gzip JSON array, and names the version they are of.
func readPolicies(ctx context.Context, wheel, cache string) (data []byte, version string, err error) {
	if wheel == "" {
		dir, err := os.MkdirTemp("", "platformgen")
		if err != nil {
			return nil, "", err
		}
		defer os.RemoveAll(dir)
		if said, err := exec.CommandContext(ctx, "pip", "download", "--quiet", "--no-deps", "--dest", dir, "auditwheel").CombinedOutput(); err != nil {
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
	all := []any{}
	for _, name := range []string{"manylinux", "musllinux"} {
		f, err := z.Open("auditwheel/policy/" + name + "-policy.json")
		if err != nil {
			return nil, "", err
		}
		text, err := io.ReadAll(f)
		if err != nil {
			return nil, "", err
		}
		var policies []map[string]any
		if err := json.Unmarshal(text, &policies); err != nil {
			return nil, "", fmt.Errorf("%s: %w", name, err)
		}
		for _, p := range policies {
			if p["name"] != "linux" { // promises nothing
				all = append(all, p)
			}
		}
	}
	text, err := json.Marshal(all) // map keys come out sorted
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	if _, err := w.Write(text); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	parts := strings.Split(filepath.Base(wheel), "-")
	if len(parts) < 2 {
		return nil, "", fmt.Errorf("%s is not named like a wheel", filepath.Base(wheel))
	}
	return b.Bytes(), "auditwheel " + parts[1], nil
}
