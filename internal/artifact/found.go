package artifact

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/github"
)

// State is the progress of the workflow runs.
type State string

const (
	Waiting State = "waiting" // no run yet, or a run has not ended: look again later
	Ready   State = "ready"   // the runs have ended and there are artifacts to check
	// the runs have ended without artifacts; GitHub's list may lag a few seconds behind
	Empty State = "empty"
)

// Found contains the artifacts of one commit, run or release.
type Found struct {
	State State
	// a sentence for Waiting and Empty; may contain untrusted names, to be escaped where it is
	// shown
	Reason string
	Runs   []Run // the workflow runs used, sorted by ID; nil for releases
	// sorted by name; not empty if State is Ready, unless Problems has everything
	Items []Item
	// assets that cannot contain binaries, and artifacts that the configuration does not select
	Skipped  []Problem
	Problems []Problem // what should have been checked but is not in Items; Download copies them
	// hex digest of run IDs, attempts, item IDs, digests and sizes: equal if nothing has changed
	Key string
}

// Run is a workflow run.
type Run = github.Run

// Item is one artifact or release asset.
type Item struct {
	ID      int64
	Name    string // as on GitHub; controlled by an attacker
	Size    int64  // bytes
	Digest  string // "sha256:…" or ""
	Expired bool
	Run     int64 // ID of the workflow run; 0 for an asset
	Asset   bool  // a release asset, not a workflow artifact

	url   string
	from  string // file name of the workflow, to distinguish equal names
	event string // that started the run
}

// Problem is an item that is not checked, with the reason as a sentence for the PR author.
type Problem struct{ Name, Reason string }

// key returns a digest of everything that an analysis depends on.
func (f *Found) key() string {
	var rows []string
	for _, r := range f.Runs {
		rows = append(rows, fmt.Sprintf("run %d %d %s", r.ID, r.Attempt, r.Status))
	}
	for _, i := range f.Items {
		rows = append(rows, fmt.Sprintf("item %d %s %d %t", i.ID, i.Digest, i.Size, i.Expired))
	}
	slices.Sort(rows)
	sum := sha256.Sum256([]byte(strings.Join(rows, "\n")))
	return hex.EncodeToString(sum[:])
}

// seal sorts the contents and sets State and Key. nothing is the Reason if Found is Empty.
func (f *Found) seal(nothing string) *Found {
	slices.SortFunc(f.Runs, func(a, b Run) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(f.Items, func(a, b Item) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	if f.State == "" {
		f.State = Ready
		if len(f.Items) == 0 && len(f.Problems) == 0 {
			f.State, f.Reason = Empty, nothing
		}
	}
	f.Key = f.key()
	return f
}

func itemOf(a github.Artifact, r Run) Item {
	return Item{
		ID:      a.ID,
		Name:    a.Name,
		Size:    a.Size,
		Digest:  a.Digest,
		Expired: a.Expired,
		Run:     r.ID,
		url:     a.URL,
		from:    fileName(r.Path),
		event:   r.Event,
	}
}

func fileName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
