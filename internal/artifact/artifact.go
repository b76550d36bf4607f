// Package artifact finds and downloads the build artifacts of a commit, a workflow run or a
// release.
//
// The find methods return a Found, with state Waiting, Ready or Empty. Download writes the
// artifacts to files in the data directory under generated names, verifies them and limits their
// size. An artifact that cannot be downloaded is reported as a Problem with a sentence for the PR
// author.
//
//	f, err := artifact.New(artifact.Options{Dir: data, Log: log})
//	found, err := f.Head(ctx, client, artifact.Head{Owner: "octo", Repo: "widget", SHA: sha, HeadRepoID: id}, nil)
//	set, err := f.Download(ctx, client, found)
//	defer set.Close()
//
// Threat: anybody who can open a pull request controls the content, name and size of an artifact.
//   - Runs of forks are listed in the parent repository under any branch name. A run is used only
//     if its commit and head repository match the request.
//   - Names from GitHub are never used as paths. The size is limited per item (2 GiB) and in
//     total (4 GiB). Nothing is unpacked here.
//   - A download whose digest differs from the API's is not returned.
//
// Errors are temporary (network, 5xx, rate limits; see github.Classify). Permanent problems are
// in Found or Set.
package artifact

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// Defaults of Options.
const (
	MaxItem  = 2 << 30 // bytes; the largest wheels on public indexes have about 1 GiB
	MaxTotal = 4 << 30 // bytes of all items of one Found
	MaxCache = 8 << 30 // bytes of unchanged artifacts that are kept
	parallel = 4       // concurrent downloads of one Found
)

// Options configures New.
type Options struct {
	Dir                         string       // data directory; the Fetcher uses Dir/downloads
	MaxItem, MaxTotal, MaxCache int64        // bytes; 0 = the defaults above
	Log                         *slog.Logger // nil = discard
}

// Fetcher finds and downloads artifacts. It is safe for concurrent use. Only one process may use
// a Dir.
type Fetcher struct {
	o     Options
	cache *cache
}

// New creates the directories. Call Clean before the first download.
func New(o Options) (*Fetcher, error) {
	if o.MaxItem <= 0 {
		o.MaxItem = MaxItem
	}
	if o.MaxTotal <= 0 {
		o.MaxTotal = MaxTotal
	}
	if o.MaxCache <= 0 {
		o.MaxCache = MaxCache
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &cache{
		dir:   filepath.Join(o.Dir, "downloads", "cache"),
		part:  filepath.Join(o.Dir, "downloads", "part"),
		max:   o.MaxCache,
		used:  map[string]int{},
		known: map[string]bool{},
		busy:  map[string]*turn{},
	}
	for _, d := range []string{c.dir, c.part} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("artifact: make the download directory (COMPAT_DATA): %w", err)
		}
	}
	return &Fetcher{o: o, cache: c}, nil
}

// Clean removes partial downloads of a crashed process, and cached files above Options.MaxCache.
// Call it at start, before any download.
func (f *Fetcher) Clean() error {
	if err := os.RemoveAll(f.cache.part); err != nil {
		return fmt.Errorf("artifact: clean up: %w", err)
	}
	if err := os.MkdirAll(f.cache.part, 0o700); err != nil {
		return fmt.Errorf("artifact: clean up: %w", err)
	}
	return f.cache.trim()
}
