package subject

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

func TestBaseOf(t *testing.T) {
	for ref, want := range map[string]string{
		"refs/heads/gh-readonly-queue/main/pr-3-0123":          "main",
		"refs/heads/gh-readonly-queue/release/1.x/pr-12-ab/pr": "release/1.x",
		"refs/heads/feature":                                   "", "": "", "gh-readonly-queue/main": "",
	} {
		if got := baseOf(ref); got != want {
			t.Errorf("%q is built on %q, want %q", ref, got, want)
		}
	}
}

func TestPullOf(t *testing.T) {
	for ref, want := range map[string]int{
		"refs/heads/gh-readonly-queue/main/pr-3-0123":       3,
		"refs/heads/gh-readonly-queue/release/1.x/pr-12-ab": 12, "refs/heads/feature": 0, "": 0,
		"gh-readonly-queue/main/pr-x-1": 0,
	} {
		if got := pullOf(ref); got != want {
			t.Errorf("%q merges #%d, want #%d", ref, got, want)
		}
	}
}

// Large artifacts never take all analyses of a process, however many jobs have some.
func TestLargeArtifactsLeaveASlot(t *testing.T) {
	s := &Service{large: make(chan struct{}, analyses-1)}
	s.Config = &config.Service{}
	of := func(sizes ...int64) *artifact.Found {
		found := &artifact.Found{}
		for _, size := range sizes {
			found.Items = append(found.Items, artifact.Item{Size: size})
		}
		return found
	}
	large := of(largeArtifacts/2, largeArtifacts/2)
	var releases []func()
	for range analyses + 3 {
		if release, _ := s.admit(large); release != nil {
			releases = append(releases, release)
		}
	}
	if len(releases) != analyses-1 {
		t.Errorf("%d large jobs at once with %d analyses", len(releases), analyses)
	}
	for range 100 {
		if release, _ := s.admit(of(largeArtifacts - 1)); release == nil {
			t.Fatal("a small job waits for a large one")
		}
	}
	releases[0]()
	if release, _ := s.admit(large); release == nil {
		t.Error("a large job is not admitted after another ended")
	}
	s.Config.Pool = string(queue.SmallPool)
	if release, otherwise := s.admit(large); release != nil || otherwise != worker.Large {
		t.Errorf("a large job in the small pool ends with %+v", otherwise)
	}
	if release, _ := s.admit(of(largeArtifacts - 1)); release == nil {
		t.Error("a small job is not for the small pool")
	}
}

func attempt(j queue.Job) *worker.Attempt {
	return &worker.Attempt{Lease: &queue.Lease{Job: j}}
}

func TestPolls(t *testing.T) {
	for _, c := range []struct {
		trigger string
		polls   int
		soon    bool
		want    time.Duration
	}{
		{"pull_request.opened", 1, false, slowPoll},
		{"workflow_run.completed", 1, false, time.Second},
		{"workflow_run.completed", 3, false, 4 * time.Second},
		{"workflow_run.completed", 8, false, fastPoll},
		{"workflow_run.completed", 20, false, slowPoll},
		{"pull_request.opened", 1, true, time.Second},
		{"pull_request.opened", 40, true, fastPoll},
	} {
		k := &check{attempt: attempt(queue.Job{Trigger: c.trigger}), state: &state{Polls: c.polls}}
		if got := k.poll(c.soon); got != c.want {
			t.Errorf("%s, look %d, soon %t: %s, want %s", c.trigger, c.polls, c.soon, got, c.want)
		}
	}
}

func TestExternalIDDependsOnInputs(t *testing.T) {
	k := &check{attempt: attempt(queue.Job{Key: "pull/5/3"}), state: &state{}}
	first := k.external("abc", "found", "key", "config")
	if !strings.HasPrefix(first, "pull/5/3@abc#") ||
		k.external("abc", "found", "key", "config") != first {
		t.Errorf("external id %q", first)
	}
	seen := map[string]bool{first: true}
	for _, inputs := range [][]string{{"found", "key2", "config"}, {"found", "key", "config2"},
		{"deadline"}, {"found", "keyconfig"}} {
		seen[k.external("abc", inputs...)] = true
	}
	k.state.ForceID = "asked"
	seen[k.external("abc", "found", "key", "config")] = true
	if len(seen) != 6 {
		t.Errorf("%d ids for 6 different verdicts", len(seen))
	}
}
