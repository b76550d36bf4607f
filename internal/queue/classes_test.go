package queue

import (
	"fmt"
	"strings"
	"testing"
)

func testByClass(t *testing.T, q *Queue) {
	n := 0
	wait := func(installation int64, jobs int) {
		for range jobs {
			n++
			enqueue(t, q, "", Job{Key: fmt.Sprint("k", n), Installation: installation})
		}
	}
	wait(1, 1)
	wait(2, 4)
	wait(3, 5)
	wait(4, 100)
	got, err := q.ByClass(t.Context())
	must(t, err)
	for class, want := range map[Class]ClassStats{Few: {Installations: 2, Jobs: 5},
		Many: {Installations: 1, Jobs: 5}, Flood: {Installations: 1, Jobs: 100}} {
		if c := got[class]; c.Installations != want.Installations || c.Jobs != want.Jobs {
			t.Errorf("%s: %+v, want %+v", class, c, want)
		}
	}
	if got[Few].Oldest < got[Flood].Oldest {
		t.Errorf(
			"the first that came has waited %s, the last ones %s",
			got[Few].Oldest,
			got[Flood].Oldest,
		)
	}
}

// Listing many jobs at once works on every backend.
func testListMany(t *testing.T, q *Queue) {
	const jobs = 300
	for n := range jobs {
		enqueue(
			t,
			q,
			"",
			Job{
				Key:          fmt.Sprint("k", n),
				Installation: int64(n % 7),
				Payload:      []byte(`"` + strings.Repeat("x", 2000) + `"`),
			},
		)
	}
	got, err := q.List(t.Context(), Filter{})
	must(t, err)
	if len(got) != jobs {
		t.Errorf("%d jobs are listed, want %d", len(got), jobs)
	}
}
