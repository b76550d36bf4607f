// Package job defines the jobs that the webhook stores and that workers and sweepers handle:
// their kinds, keys and payloads.
//
// Each kind is a type that implements Body. New makes a job of the queue from a Body, and Decode
// returns the Body of a job; no other package formats or parses keys and payloads.
//
//	j, err := job.New(&job.Pull{Repository: 4711, Number: 12}, job.Origin{Installation: 7, Trigger: "pull_request.opened"})
//	body, err := job.Decode(lease.Job)
//
// Decode also accepts jobs of earlier releases: jobs without a payload, and earlier names of some
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

	"github.com/compat-app/compat/internal/lazy"
	"github.com/compat-app/compat/internal/queue"
)

// Kind is the kind of a job.
type Kind string

// Kinds of jobs.
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
	KindInstallationEnded Kind = "installation_ended"
)

// kinds maps each kind to a function that returns an empty body.
var kinds = lazy.Value[map[Kind]func() Body]{New: func() map[Kind]func() Body {
	return map[Kind]func() Body{
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
		KindInstallationEnded: func() Body { return new(InstallationEnded) },
	}
}}

// earlier returns the present name of a kind that earlier releases named k. A queue may still
// contain such jobs.
func earlier(k Kind) (_ Kind, ok bool) {
	switch k {
	case "button":
		return KindCheckAction, true
	case "base":
		return KindDefaultBranch, true
	case "ahead":
		return KindBaseAnalysis, true
	case "removed":
		return KindRepositoryRemoved, true
	case "repository":
		return KindRepositoryRenamed, true
	}
	return "", false
}

// Kinds returns all kinds, in no particular order.
func Kinds() []Kind {
	var all []Kind
	for k := range kinds.Get() {
		all = append(all, k)
	}
	return all
}

// KindOf returns the kind of a stored job, also if an earlier release stored it under another
// name. An unknown kind is returned unchanged.
func KindOf(j queue.Job) Kind {
	if k, ok := earlier(Kind(j.Kind)); ok {
		return k
	}
	return Kind(j.Kind)
}

// Body is the subject of a job, with one type per kind. Exported fields with a JSON name are in
// the payload, the others in the key.
type Body interface {
	// Kind returns the kind of the job.
	Kind() Kind
	// Key identifies the subject. The queue has at most one waiting job for a key. It begins with
	// the kind and the repository's ID.
	Key() string
	// RepositoryID returns GitHub's ID of the base repository.
	RepositoryID() int64

	// fromKey sets the fields that are in the key: the repository, and the rest of the key.
	fromKey(repository int64, rest string) error
}

// Origin contains what jobs of all kinds have in common.
type Origin struct {
	Installation int64  // never 0
	SHA          string // head commit in the event; "" = the event has none
	Trigger      string // such as "pull_request.opened" or "sweeper"
	Delivery     string // GUID of the delivery; "" = none
	// ForceID makes the worker check the subject again even if nothing has changed. Each value
	// has one effect. "" = check only if something has changed.
	ForceID  string
	Priority queue.Priority // 0 = the default of the kind
	Received time.Time      // time of the delivery; zero = the webhook sets it
}

// OriginOf returns the origin for a follow-up job of j about another subject. It has no ForceID,
// no commit and the default priority.
func OriginOf(j queue.Job) Origin {
	return Origin{
		Installation: j.Installation,
		Trigger:      j.Trigger,
		Delivery:     j.Delivery,
		Received:     j.Received,
	}
}

// New returns a job of the queue. It returns an error if the installation or repository is
// missing, SHA is malformed, or the body identifies no subject.
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
		Schema:       Schema,
		Priority:     o.Priority,
		Received:     o.Received,
	}, nil
}

// Schema is the version of kinds and payloads. It grows when a job of this release would have
// another meaning for an earlier one.
const Schema = 1

// ErrNewer means that a job was stored by a newer release, which has other kinds or payloads.
var ErrNewer = errors.New("a newer release has stored the job")

// Decode returns the body of a stored job. It returns an error if the key is malformed or the
// payload is damaged or of another key. Unknown fields are ignored, because a newer release may
// have them. If the error is ErrNewer, the body is what the key says, or nil if that is no known
// subject.
func Decode(j queue.Job) (Body, error) {
	if kinds.Get()[KindOf(j)] == nil {
		b, _ := Subject(j.Key) // nil if it is none
		return b, fmt.Errorf("%w: kind %q", ErrNewer, j.Kind)
	}
	b, err := fromKey(KindOf(j), j.Key)
	if err != nil {
		return nil, err
	}
	if b.RepositoryID() != j.Repository {
		return nil, fmt.Errorf("the key %q is not of repository %d", j.Key, j.Repository)
	}
	if j.Schema > Schema {
		return b, fmt.Errorf("%w: schema %d of %s", ErrNewer, j.Schema, j.Key)
	}
	if len(j.Payload) == 0 {
		return b, nil
	}
	d := json.NewDecoder(bytes.NewReader(j.Payload))
	other := (*json.UnmarshalTypeError)(nil)
	if err := d.Decode(b); errors.As(err, &other) {
		b, _ = fromKey(KindOf(j), j.Key) // without what was decoded; the key is valid
		return b, fmt.Errorf("%w: the payload of %s: %w", ErrNewer, j.Key, err)
	} else if err != nil {
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

// Subject parses the key of a subject that has a check run: a pull request, merge group or
// release. It returns an error for other keys.
func Subject(key string) (Body, error) {
	kind, _, _ := strings.Cut(key, "/")
	switch Kind(kind) {
	case KindPull, KindMergeGroup, KindRelease:
		return fromKey(Kind(kind), key)
	}
	return nil, fmt.Errorf("%q is not the key of a subject with a check run", key)
}

// fromKey returns the body that a key identifies, without its payload.
func fromKey(kind Kind, key string) (Body, error) {
	make := kinds.Get()[kind]
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

// External returns the external ID of a check run: the subject, the commit, and a digest of
// everything that was checked. digest is "" if there is no verdict yet.
func External(key, sha, digest string) string {
	if digest == "" {
		return key + "@" + sha
	}
	return key + "@" + sha + "#" + digest
}

// ParseExternal returns the subject in an external ID made by External, if it belongs to the
// repository. It is needed for forks, for which GitHub lists no pull requests.
func ParseExternal(external string, repository int64) (b Body, ok bool) {
	key, _, found := strings.Cut(external, "@")
	if !found {
		return nil, false
	}
	b, err := Subject(key)
	return b, err == nil && b.RepositoryID() == repository
}

// IsSHA reports whether s has the form of a SHA-1 or SHA-256 of a commit.
func IsSHA(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(s) == 40 || len(s) == 64
}

// positive parses the positive decimal number at the end of a key.
func positive(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != s {
		return 0, errors.New("not a positive number")
	}
	return n, nil
}
