package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// lockedPins reads the NAME==VERSION lines of a lock file in requirements.txt form (pip's "Requirements File Format").
func lockedPins(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--lock: %w; give the path of a readable file", err)
	}
	var pins []string
	lines := bufio.NewScanner(bytes.NewReader(bytes.ReplaceAll(data, []byte("\\\n"), []byte(" "))))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), " #")
		text, _, _ = strings.Cut(text, " --")
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "-") {
			continue
		}
		q, err := pkgmeta.ParseRequirement(text)
		if err != nil {
			return nil, fmt.Errorf("--lock %s:%d: %w; only lock files in requirements.txt form are read, as 'uv export' and 'pip-compile' write them", path, n, err)
		}
		if strings.HasPrefix(q.Spec, "==") {
			pins = append(pins, q.Raw)
		}
	}
	return pins, lines.Err()
}
