package subject

import (
	"cmp"
	"context"
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/options"
)

// locked adds the pins of the configured lock files to options, as of the checked commit. It
// returns a badOptions error if a file does not exist or is not a lock file.
func (a *analysis) locked(
	ctx context.Context,
	found *artifact.Found,
	paths []string,
	o *analyzer.Options,
) error {
	var all []string
	for _, path := range paths {
		sha := cmp.Or(a.head, a.attempt.Job.SHA)
		if a.head == "" && len(found.Runs) > 0 {
			sha = found.Runs[0].SHA
		}
		text, there, err := a.repo.Content(ctx, sha, path)
		if err != nil {
			return fmt.Errorf("read a lock file: %w", err)
		}
		if !there {
			return &badOptions{
				fmt.Errorf(
					"python.lock: %q does not exist in the commit that is checked; correct the path",
					path,
				),
			}
		}
		some, err := lockfile.Pins(path, []byte(text))
		if err != nil {
			return &badOptions{fmt.Errorf("python.lock: %q: %w", path, err)}
		}
		all = append(all, options.Locked(path, some, o)...)
	}
	o.With = append(all, o.With...)
	return nil
}
