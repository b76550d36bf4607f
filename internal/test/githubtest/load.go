package githubtest

import (
	"slices"
	"time"
)

// Load is the most that an installation asked of GitHub in any minute, in the units of GitHub's
// secondary limits (docs: rate limits for the REST API): 80 comments and reviews a minute, 500 an
// hour; 900 points a minute; 100 requests at once.
type Load struct {
	Content int // comments and reviews in a minute
	Hourly  int // the same in an hour
	Points  int // a minute: one for what reads, five for what writes
	AtOnce  int
}

// Heaviest measures the calls of an installation.
func (s *Server) Heaviest(i *Installation) Load {
	var l Load
	var at, content []time.Time
	var points []int
	var ends []time.Time
	for _, c := range s.Calls() {
		if c.Installation != i.ID {
			continue
		}
		worth := 1
		if c.Writes() {
			worth = 5
		}
		at, points = append(at, c.At), append(points, worth)
		if slices.Contains(
			[]string{
				"issues/create-comment",
				"pulls/create-review",
				"pulls/create-review-comment",
				"pulls/create-reply-for-review-comment",
			},
			c.Op,
		) {
			content = append(content, c.At)
		}
		ends = slices.DeleteFunc(ends, func(end time.Time) bool { return end.Before(c.At) })
		ends = append(ends, c.At.Add(c.Took))
		l.AtOnce = max(l.AtOnce, len(ends))
	}
	l.Content, l.Hourly = most(content, nil, time.Minute), most(content, nil, time.Hour)
	l.Points = most(at, points, time.Minute)
	return l
}

// most is the largest sum of what falls into one window; worth nil counts each as one. at is in
// order.
func most(at []time.Time, worth []int, window time.Duration) (best int) {
	sum, from := 0, 0
	value := func(i int) int {
		if worth == nil {
			return 1
		}
		return worth[i]
	}
	for i := range at {
		for sum += value(i); at[i].Sub(at[from]) >= window; from++ {
			sum -= value(from)
		}
		best = max(best, sum)
	}
	return best
}
