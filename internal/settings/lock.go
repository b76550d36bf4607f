package settings

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
)

// Pins reads the NAME==VERSION lines of a lock file in requirements.txt form (pip's "Requirements File Format"). Lines that pin nothing are
// left out; the error names the first line that is no requirement.
func Pins(text string) ([]string, error) {
	var out []string
	n := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		n++
		line, _, _ = strings.Cut(line, " #")
		line, _, _ = strings.Cut(line, " --") // hashes
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '-' {
			continue
		}
		q, err := pkgmeta.ParseRequirement(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; only lock files in requirements.txt form are read, as 'uv export' and 'pip-compile' write them", n, err)
		}
		if strings.HasPrefix(q.Spec, "==") {
			out = append(out, q.Raw)
		}
	}
	return out, nil
}
