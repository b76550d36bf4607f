// Package job is the contract between the webhook, which stores jobs, and the workers and sweepers,
// which handle them: the kinds of jobs, the key of each and its payload.
//
// A kind is a type that implements Body. New makes the queue's job from one, and Decode reads it
// back; nothing else builds or parses keys and payloads. The package knows nothing of how a job is
// handled.
//
//	j, err := job.New(&job.Pull{Repository: 4711, Number: 12}, job.Origin{Installation: 7, Trigger: "pull_request.opened"})
//	body, err := job.Decode(lease.Job)
//
// Decode reads what earlier releases stored: a job without a payload, and the earlier names of some
// kinds.
package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/queue"
)

// Kind names what a job is about.
type Kind string

// The kinds.
const (
	KindPull              Kind = "pull"
	KindMergeGroup        Kind = "merge_group"
	KindRelease           Kind = "release"
	KindDeployment        Kind = "deployment"
	KindCommit            Kind = "commit"
	KindCommand           Kind = "command"
	KindCheckAction       Kind = "check_action"
	KindDefaultBranch     Kind = "default_branch"
	KindBaseAnalysis      Kind = "base_analysis"
	KindRepositoryRemoved Kind = "repository_removed"
	KindRepositoryRenamed Kind = "repository_renamed"
)

// kinds makes an empty body of each kind.
var kinds = map[Kind]func() Body{
	KindPull:              func() Body { return new(Pull) },
	KindMergeGroup:        func() Body { return new(MergeGroup) },
	KindRelease:           func() Body { return new(Release) },
	KindDeployment:        func() Body { return new(Deployment) },
	KindCommit:            func() Body { return new(Commit) },
	KindCommand:           func() Body { return new(Command) },
	KindCheckAction:       func() Body { return new(CheckAction) },
	KindDefaultBranch:     func() Body { return new(DefaultBranch) },
	KindBaseAnalysis:      func() Body { return new(BaseAnalysis) },
	KindRepositoryRemoved: func() Body { return new(RepositoryRemoved) },
	KindRepositoryRenamed: func() Body { return new(RepositoryRenamed) },
}

// earlier has the names that earlier releases gave some kinds. A queue may still hold such jobs.
var earlier = map[Kind]Kind{
	"button":     KindCheckAction,
	"base":       KindDefaultBranch,
	"ahead":      KindBaseAnalysis,
	"removed":    KindRepositoryRemoved,
	"repository": KindRepositoryRenamed,
}

// Kinds lists every kind, in no particular order.
func Kinds() []Kind {
	var all []Kind
	for k := range kinds {
		all = append(all, k)
	}
	return all
}

// KindOf is the kind of a stored job, also of one that an earlier release named differently. A kind
// that nobody knows is returned as it is.
func KindOf(j queue.Job) Kind {
	if k, ok := earlier[Kind(j.Kind)]; ok {
		return k
	}
	return Kind(j.Kind)
}

// Body is what a job is about, one type per kind. Its exported fields with a JSON name are the
// payload; the others are in the key.
type Body interface {
	// Kind is the kind of the job.
	Kind() Kind
	// Key identifies the subject: the queue keeps at most one waiting job for a key. It begins with
	// the kind and the repository's id.
	Key() string
	// RepositoryID is GitHub's id of the base repository.
	RepositoryID() int64

	// fromKey sets the fields that are in the key: the repository, and what follows it.
	fromKey(repository int64, rest string) error
}

// Origin is what jobs of all kinds have in common: where a job comes from.
type Origin struct {
	Installation int64  // never 0
	SHA          string // the head as the event has it; "" where it names none
	Trigger      string // "pull_request.opened"; "sweeper"
	Delivery     string // GUID of the delivery; "" for none
	// ForceID makes the worker check the subject again though nothing has changed; each value counts
	// once. "": only when something has changed.
	ForceID  string
	Priority queue.Priority // 0: the kind's own
	Received time.Time      // of the delivery; zero: the webhook sets it
}

// OriginOf is the origin of a follow-up of a job: a job of another subject that it leads to. It is
// not forced, has no commit, and has the priority of its kind.
func OriginOf(j queue.Job) Origin {
	return Origin{
		Installation: j.Installation,
		Trigger:      j.Trigger,
		Delivery:     j.Delivery,
		Received:     j.Received,
	}
}

// New makes the queue's job. It returns an error when the installation or the repository is
// missing, the SHA is not one, or the body names no subject.
func New(b Body, o Origin) (queue.Job, error) {
	if o.Installation == 0 || b.RepositoryID() == 0 {
		return queue.Job{}, errors.New("the installation or the repository is missing")
	}
	if o.SHA != "" && !IsSHA(o.SHA) {
		return queue.Job{}, errors.New("the SHA of the commit is not valid")
	}
	if _, err := fromKey(b.Kind(), b.Key()); err != nil {
		return queue.Job{}, err
	}
	payload, err := json.Marshal(b)
	if err != nil {
		return queue.Job{}, fmt.Errorf("encode a %s: %w", b.Kind(), err)
	}
	return queue.Job{
		Key:          b.Key(),
		Kind:         string(b.Kind()),
		Installation: o.Installation,
		Repository:   b.RepositoryID(),
		SHA:          o.SHA,
		Trigger:      o.Trigger,
		Delivery:     o.Delivery,
		ForceID:      o.ForceID,
		Payload:      payload,
		Priority:     o.Priority,
		Received:     o.Received,
	}, nil
}

// Decode reads the body of a stored job. It returns an error when the kind is unknown, the key is
// not one of the kind, or the payload has a field that the kind does not have.
func Decode(j queue.Job) (Body, error) {
	b, err := fromKey(KindOf(j), j.Key)
	if err != nil {
		return nil, err
	}
	if b.RepositoryID() != j.Repository {
		return nil, fmt.Errorf("the key %q is not of repository %d", j.Key, j.Repository)
	}
	if len(j.Payload) == 0 {
		return b, nil
	}
	d := json.NewDecoder(bytes.NewReader(j.Payload))
	d.DisallowUnknownFields()
	if err := d.Decode(b); err != nil {
		return nil, fmt.Errorf("the payload of %s is damaged: %w", j.Key, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the payload of %s is damaged: data after its end", j.Key)
	}
	if Kind(j.Kind) == b.Kind() && b.Key() != j.Key {
		return nil, fmt.Errorf("the payload of %s is one of %s", j.Key, b.Key())
	}
	return b, nil
}

// Subject reads the key of a subject that has a check run: a pull request, a merge group or a
// release. It returns an error for any other key.
func Subject(key string) (Body, error) {
	kind, _, _ := strings.Cut(key, "/")
	switch Kind(kind) {
	case KindPull, KindMergeGroup, KindRelease:
		return fromKey(Kind(kind), key)
	}
	return nil, fmt.Errorf("%q is not the key of a subject with a check run", key)
}

// fromKey makes the body that a key identifies, without its payload.
func fromKey(kind Kind, key string) (Body, error) {
	make := kinds[kind]
	if make == nil {
		return nil, fmt.Errorf("there is no job of kind %q", kind)
	}
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 2 {
		return nil, fmt.Errorf("the key %q is not one of a %s", key, kind)
	}
	repository, err := strconv.ParseInt(parts[1], 10, 64)
	b, rest := make(), strings.Join(parts[2:], "")
	if err == nil {
		err = b.fromKey(repository, rest)
	}
	if err != nil || repository <= 0 {
		return nil, fmt.Errorf("the key %q is not one of a %s", key, kind)
	}
	return b, nil
}

// External makes the external id of a check run: the subject, the commit, and a digest of
// everything that the verdict is made of. digest "": the check run has no verdict yet.
func External(key, sha, digest string) string {
	if digest == "" {
		return key + "@" + sha
	}
	return key + "@" + sha + "#" + digest
}

// ParseExternal reads the subject from an external id that External made, when it is one of the
// repository. GitHub's own list of a check run's pull requests is empty for forks.
func ParseExternal(external string, repository int64) (b Body, ok bool) {
	key, _, found := strings.Cut(external, "@")
	if !found {
		return nil, false
	}
	b, err := Subject(key)
	return b, err == nil && b.RepositoryID() == repository
}

// IsSHA reports whether s has the form of a commit's SHA-1 or SHA-256.
func IsSHA(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(s) == 40 || len(s) == 64
}

// positive reads the decimal number that a key ends in.
func positive(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != s {
		return 0, errors.New("not a positive number")
	}
	return n, nil
}
