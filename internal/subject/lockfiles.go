package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/options"
	"github.com/compat-app/compat/internal/pinned"
)

// errAbsent is the error for a file that the checked commit does not have.
var errAbsent = errors.New("does not exist in the commit that is checked; correct the path")

// locked adds the pins of the configured lock files to options, as of the checked commit. It
// returns a badOptions error if a file does not exist or is not a lock file.
func (a *analysis) locked(
	ctx context.Context,
	found *artifact.Found,
	paths []string,
	o *analyzer.Options,
) error {
	sha := cmp.Or(a.head, a.attempt.Job.SHA)
	if a.head == "" && len(found.Runs) > 0 {
		sha = found.Runs[0].SHA
	}
	var all []*pinned.Pinned
	for _, path := range paths {
		var failed error // of GitHub
		files := pinned.Files{Paths: []string{path}, NoDefaultGroups: true}
		files.Read = func(path string) ([]byte, error) {
			if !fs.ValidPath(path) { // of a file that is included
				return nil, errAbsent
			}
			text, there, err := a.repo.Content(ctx, sha, path)
			if err != nil {
				failed = err
			}
			if !there {
				return nil, errAbsent
			}
			return []byte(text), nil
		}
		p, err := files.Anywhere()
		if failed != nil {
			return fmt.Errorf("read a lock file: %w", failed)
		}
		var file *pinned.FileError
		switch {
		case errors.As(err, &file) && file.Missing:
			return &badOptions{fmt.Errorf("python.lock: %q %w", path, file.Err)}
		case err != nil:
			return &badOptions{fmt.Errorf("python.lock: %q: %s", path, file.Reason())}
		}
		all = append(all, p)
	}
	o.With = append(options.Locked(o, all...), o.With...)
	return nil
}
