package index

import (
	"fmt"
	"sync/atomic"
)

// Cost is what the questions to an index came to.
type Cost struct {
	Requests int64 // sent, repeated ones included
	Bytes    int64 // of bodies received
	Cached   int64 // pages and facts that the cache had
	Recorded int64 // releases of the built-in history, whose file the index lists
	Spared   int64 // bytes of those files, as far as the index says how large they are
	Sized    int64 // of how many it does
}

// meter counts costs; it is safe for concurrent use.
type meter struct{ requests, bytes, cached, recorded, spared, sized atomic.Int64 }

// Cost is what was spent so far.
func (i *Index) Cost() Cost {
	return Cost{
		Requests: i.meter.requests.Load(),
		Bytes:    i.meter.bytes.Load(),
		Cached:   i.meter.cached.Load(),
		Recorded: i.meter.recorded.Load(),
		Spared:   i.meter.spared.Load(),
		Sized:    i.meter.sized.Load(),
	}
}

// String is a sentence without its end: "12 requests, 0.7 MB received, 3 answers from the cache, 14
// releases known from the built-in history, whose 2711.3 MB were not read". An index that tells no
// sizes leaves the number out.
func (c Cost) String() string {
	s := fmt.Sprintf(
		"%s, %.1f MB received, %s from the cache, %s known from the built-in history",
		count(
			c.Requests,
			"request",
		),
		float64(c.Bytes)/1e6,
		count(c.Cached, "answer"),
		count(c.Recorded, "release"),
	)
	switch {
	case c.Recorded == 0:
	case c.Sized == c.Recorded:
		s += fmt.Sprintf(", whose %.1f MB were not read", float64(c.Spared)/1e6)
	case c.Sized > 0:
		s += fmt.Sprintf(
			", whose files were not read (%.1f MB, and those of which the index does not say how large "+
				"they are)",
			float64(c.Spared)/1e6,
		)
	default:
		s += ", whose files were not read"
	}
	return s
}

func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
