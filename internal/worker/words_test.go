package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/queue"
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
		"refs/heads/gh-readonly-queue/main/pr-3-0123": 3, "refs/heads/gh-readonly-queue/release/1.x/pr-12-ab": 12, "refs/heads/feature": 0, "": 0, "gh-readonly-queue/main/pr-x-1": 0,
	} {
		if got := pullOf(ref); got != want {
			t.Errorf("%q merges #%d, want #%d", ref, got, want)
		}
	}
}

func TestAcceptance(t *testing.T) {
	for line, want := range map[string]string{
		"pow because only for AlmaLinux 9":              "pow|only for AlmaLinux 9|",
		"`pow` BECAUSE of until until 2999-01-31":       "`pow`|of until|2999-01-31",
		"pow because we wait until 2999-01-31 and more": "pow|we wait until 2999-01-31 and more|",
		"pow": "", "pow because": "", "because x": "", "": "",
	} {
		got := strings.Join(acceptance.FindStringSubmatch(line), "|")
		if _, rest, found := strings.Cut(got, "|"); found {
			got = rest
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
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
		task := &task{job: queue.Job{Trigger: c.trigger}, state: &state{Polls: c.polls}}
		if got := task.poll(c.soon); got != c.want {
			t.Errorf("%s, look %d, soon %t: %s, want %s", c.trigger, c.polls, c.soon, got, c.want)
		}
	}
}

func TestExternalIDHoldsWhatTheVerdictRestsOn(t *testing.T) {
	task := &task{job: queue.Job{Key: "pull/5/3"}, state: &state{}}
	first := task.external("abc", "found", "key", "config")
	if !strings.HasPrefix(first, "pull/5/3@abc#") ||
		task.external("abc", "found", "key", "config") != first {
		t.Errorf("external id %q", first)
	}
	seen := map[string]bool{first: true}
	for _, inputs := range [][]string{{"found", "key2", "config"}, {"found", "key", "config2"}, {"deadline"}, {"found", "keyconfig"}} {
		seen[task.external("abc", inputs...)] = true
	}
	task.state.ForceID = "asked"
	seen[task.external("abc", "found", "key", "config")] = true
	if len(seen) != 6 {
		t.Errorf("%d ids for 6 different verdicts", len(seen))
	}
}
