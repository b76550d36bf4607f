package worker

import (
	"context"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/artifact"
)

// locked reads the pins of the lock files that the configuration names, as they are at the commit that is judged. Errors are badOptions where a
// file isn't there or can't be read as a lock file.
func (t *task) locked(ctx context.Context, found *artifact.Found, paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		sha := t.job.SHA
		switch {
		case t.state != nil:
			sha = t.state.Head
		case len(found.Runs) > 0:
			sha = found.Runs[0].SHA
		}
		text, there, err := t.content(ctx, sha, path)
		if err != nil {
			return nil, fmt.Errorf("worker: read a lock file: %w", err)
		}
		if !there {
			return nil, &badOptions{fmt.Errorf("python.lock: %q is not in the commit that is judged; correct the path", path)}
		}
		some, err := pins(text)
		if err != nil {
			return nil, &badOptions{fmt.Errorf("python.lock: %q: %w; only the form of requirements.txt is read, as 'uv export' and 'pip-compile' write it", path, err)}
		}
		all = append(all, some...)
	}
	return all, nil
}

// pins reads the NAME==VERSION lines of a file in requirements.txt form (pip's "Requirements File Format").
func pins(text string) ([]string, error) {
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
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if strings.HasPrefix(q.Spec, "==") {
			out = append(out, q.Raw)
		}
	}
	return out, nil
}
