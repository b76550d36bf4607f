// Package artifact finds the build artifacts that belong to a commit, a workflow run or a release,
// and fetches them.
//
// Finding asks GitHub and answers with a Found: wait, nothing there, or these. Downloading puts the
// bytes into files of our own naming under the data directory, checked and capped; what can't be
// had is a Problem with a sentence for the PR author, never a silent gap.
//
//	f, err := artifact.New(artifact.Options{Dir: data, Log: log})
//	found, err := f.Head(ctx, client, artifact.Head{Owner: "octo", Repo: "widget", SHA: sha, HeadRepoID: id}, nil)
//	set, err := f.Download(ctx, client, found)
//	defer set.Close()
//
// The threat: anybody who can open a pull request chooses what is in an artifact, what it is
// called, and how large it is.
//   - A fork's runs stand in the parent's lists, under any branch name. A run counts only when its
//     commit and its head repository are those asked for.
//   - Names never become paths. Sizes are capped per item (2 GiB) and in all (4 GiB); nothing is
//     unpacked here.
//   - Bytes that don't have the digest of the API aren't handed out.
//
// Errors are what may work another time (network, 5xx, rate limits: github.Classify); what won't is
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
	MaxItem  = 2 << 30 // bytes; the largest wheels on public indexes are about 1 GiB
	MaxTotal = 4 << 30 // bytes of one Found: a matrix of large wheels
	MaxCache = 8 << 30 // bytes kept for an unchanged artifact
	parallel = 4       // downloads of one Found at once
)

// Options are what New needs.
type Options struct {
	Dir                         string // data directory; the fetcher owns Dir/downloads
	MaxItem, MaxTotal, MaxCache int64  // bytes; 0: the defaults above
	Log                         *slog.Logger
}

// Fetcher finds and fetches. It is safe for concurrent use; one process uses a Dir.
type Fetcher struct {
	o     Options
	cache *cache
}

// New makes the directories. It reads nothing and deletes nothing: see Clean.
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

// Clean removes what a crash left behind, at the start and before any download. Whole files of the
// cache stay.
func (f *Fetcher) Clean() error {
	if err := os.RemoveAll(f.cache.part); err != nil {
		return fmt.Errorf("artifact: clean up: %w", err)
	}
	if err := os.MkdirAll(f.cache.part, 0o700); err != nil {
		return fmt.Errorf("artifact: clean up: %w", err)
	}
	return f.cache.trim()
}
