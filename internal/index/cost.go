package index

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Cost counts the work of an Index.
type Cost struct {
	Requests int64 // including retries
	Bytes    int64 // bytes of bodies received
	Cached   int64 // pages and facts found in the cache
	Stored   int64 // wheels whose facts were in the store
	Recorded int64 // releases described by the built-in history
	// total bytes of the wheels of Recorded that were not downloaded, if their size is known
	Spared int64
	Sized  int64 // number of wheels in Spared
}

// meter is the concurrent form of Cost.
type meter struct{ requests, bytes, cached, stored, recorded, spared, sized atomic.Int64 }

// Cost returns the work so far.
func (i *Index) Cost() Cost {
	return Cost{
		Requests: i.meter.requests.Load(),
		Bytes:    i.meter.bytes.Load(),
		Cached:   i.meter.cached.Load(),
		Stored:   i.meter.stored.Load(),
		Recorded: i.meter.recorded.Load(),
		Spared:   i.meter.spared.Load(),
		Sized:    i.meter.sized.Load(),
	}
}

// String formats a Cost without a period: "12 requests, 0.7 MB received, 3 answers from the
// cache, 14 releases known from the built-in package history, whose 2711.3 MB were not read". Parts
// that are zero are left out; "no requests" is the zero value. The last number is also left out if
// the index reports no sizes.
func (c Cost) String() string {
	parts := []string{"no requests"}
	if c.Requests > 0 {
		parts = []string{
			count(c.Requests, "request"),
			fmt.Sprintf("%.1f MB received", float64(c.Bytes)/1e6),
		}
	}
	if c.Cached > 0 {
		parts = append(parts, count(c.Cached, "answer")+" from the cache")
	}
	if c.Stored > 0 {
		parts = append(parts, "facts of "+count(c.Stored, "wheel")+" from the facts store")
	}
	if c.Recorded > 0 {
		parts = append(parts, count(c.Recorded, "release")+" known from the built-in package history")
	}
	switch {
	case c.Recorded == 0:
	case c.Sized == c.Recorded:
		parts = append(parts, fmt.Sprintf("whose %.1f MB were not read", float64(c.Spared)/1e6))
	case c.Sized > 0:
		parts = append(parts, fmt.Sprintf(
			"whose files were not read (%.1f MB, and files whose size the index does not report)",
			float64(c.Spared)/1e6,
		))
	default:
		parts = append(parts, "whose files were not read")
	}
	return strings.Join(parts, ", ")
}

func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
