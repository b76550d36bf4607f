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

// State says how far CI is.
type State string

const (
	Waiting State = "waiting" // no workflow run yet, or one that has not ended: look again later
	Ready   State = "ready"   // over, and there is something to judge
	// over, and there is nothing; the list can lag a few seconds behind the end of the run
	Empty State = "empty"
)

// Found is what belongs to one commit, run or release.
type Found struct {
	State State
	// a sentence for Waiting and Empty; may hold names from outside, to be escaped where it is
	// shown
	Reason string
	Runs   []Run // the workflow runs that count, in the order of their ids; none for releases
	// by name; for Ready at least one, except where all that there was is in Problems
	Items    []Item
	Skipped  []Problem // assets that can't hold binaries, artifacts that configuration leaves out
	Problems []Problem // what should have been judged and is not in Items; Download repeats them
	// hex digest over run ids, attempts, item ids, digests and sizes: equal when nothing changed
	Key string
}

// Run is a workflow run.
type Run = github.Run

// Item is one artifact or release asset.
type Item struct {
	ID      int64
	Name    string // as GitHub has it: attacker data
	Size    int64
	Digest  string // "sha256:…" or ""
	Expired bool
	Run     int64 // 0 for an asset
	Asset   bool

	url  string
	from string // file name of the workflow, to tell equal names apart
}

// Problem is something that isn't judged, and why: a sentence that a PR author understands.
type Problem struct{ Name, Reason string }

// key digests what an analysis would depend on.
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

// seal orders what was found, and settles state and key.
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
	}
}

func fileName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
