package worker

import (
	"slices"
	"testing"
	"time"
)

// Eight workers that try every three seconds for ten minutes log a few lines, and the end once.
func TestOutageIsLoggedRarely(t *testing.T) {
	var o outage
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fail := func(from, to int) (seconds []int) {
		for s := from; s < to; s += 3 {
			for range 8 {
				if o.failed(start.Add(time.Duration(s) * time.Second)) {
					seconds = append(seconds, s)
				}
			}
		}
		return seconds
	}
	if got, want := fail(0, 600), []int{0, 6, 18, 39, 81, 162, 324}; !slices.Equal(got, want) {
		t.Errorf("logged at %v s, want %v", got, want)
	}
	if !o.ended() || o.ended() {
		t.Error("the end is not logged once")
	}
	if got := fail(601, 604); len(got) != 0 {
		t.Errorf("a second outage at once is logged at %v s", got)
	}
	if got := fail(7200, 7210); !slices.Equal(got, []int{7200, 7206}) {
		t.Errorf("a later outage is logged at %v s", got)
	}
}
