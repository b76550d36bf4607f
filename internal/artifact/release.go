package artifact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/github"
)

// suffixes are the file name suffixes of objects and programs that compat reads, in addition to
// those of archives.
var suffixes = []string{".so", ".a", ".node", ".run", ".dylib", ".dll", ".pyd"}

// Release finds the assets of a release. The state is Waiting while an asset is being uploaded,
// and Empty if no asset can contain binaries (others are in Skipped). The list can grow after the
// event, so callers wait until Key does not change any more.
func (f *Fetcher) Release(
	ctx context.Context,
	c *github.Client,
	owner, repo string,
	id int64,
) (*Found, error) {
	all, err := c.Assets(ctx, owner, repo, id)
	found := &Found{}
	switch {
	case missing(err):
		found.State, found.Reason = Waiting, "GitHub's API does not show the release."
		return found.seal(""), nil
	case errors.Is(err, github.ErrTooMany):
		found.Problems = append(
			found.Problems,
			Problem{
				"release",
				fmt.Sprintf("The release has more assets than compat reads (%d).", len(all)),
			},
		)
	case err != nil:
		return nil, wrap("read a release", err)
	}
	for _, a := range all {
		switch {
		case a.State != "uploaded":
			found.State, found.Reason = Waiting, fmt.Sprintf("The asset %q is still being uploaded.", a.Name)
		case !holdsBinaries(a.Name):
			found.Skipped = append(found.Skipped, Problem{a.Name, "this type of file contains no binaries"})
			continue
		}
		found.Items = append(
			found.Items,
			Item{ID: a.ID, Name: a.Name, Size: a.Size, Digest: a.Digest, Asset: true, url: a.URL},
		)
	}
	if len(found.Skipped) > 0 {
		return found.seal("The release has no asset that can contain binaries."), nil
	}
	return found.seal("The release has no assets."), nil
}

// holdsBinaries decides by the name: a known suffix, a versioned library (libx.so.1.2), or a
// program with the system in its name (tool-1.2-linux-amd64).
func holdsBinaries(name string) bool {
	n := strings.ToLower(name)
	if unpack.ArchiveName(n) {
		return true
	}
	for _, s := range suffixes {
		if strings.HasSuffix(n, s) {
			return true
		}
	}
	if _, version, ok := strings.Cut(n, ".so."); ok && version != "" &&
		strings.Trim(version, "0123456789.") == "" {
		return true
	}
	tail := n[strings.LastIndexByte(n, '.')+1:]
	return strings.Contains(n, "linux") && (tail == n || strings.Contains(tail, "linux"))
}

func wrap(what string, err error) error { return fmt.Errorf("artifact: %s: %w", what, err) }
