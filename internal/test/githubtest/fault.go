package githubtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault is a failure of a request. The zero value changes nothing; with only Delay the request is
// slow but succeeds.
type Fault struct {
	Status int           // status of the response
	Header http.Header   // header of the response, such as Retry-After
	Delay  time.Duration // before the response
	Cut    bool          // close the connection instead of responding
	// perform the request first, so that the App cannot know whether it took effect
	After bool
	// called before the response and without the lock, for example to kill the App
	Do func()
	// Limit, with Status 403 or 429, starts a rate limit of that duration for the installation.
	// Requests before its end get the same response and, after a short grace, are violations. The
	// response only contains the end with Primary, RetryAfter or Header.
	Limit      time.Duration
	Primary    bool // X-RateLimit-Remaining: 0 and X-RateLimit-Reset
	RetryAfter bool // Retry-After
}

func (f *Fault) refuses() bool { return f.Status != 0 || f.Cut }

type fault struct {
	Fault
	op    string
	skip  int
	times int
}

type limit struct {
	Fault
	from, until time.Time
}

// Fault makes the next times requests of an operation fail; times < 0 means all. op is GitHub's
// operation ID such as "checks/create", or a prefix with a star: "checks/*", "*". Faults of one
// operation are used in the order given.
func (s *Server) Fault(op string, times int, f Fault) { s.FaultAfter(op, 0, times, f) }

// FaultAfter is like Fault after the first skip requests of the operation.
func (s *Server) FaultAfter(op string, skip, times int, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &fault{Fault: f, op: op, skip: skip, times: times})
}

// EachOnce makes the first request of every operation fail.
func (s *Server) EachOnce(f Fault) {
	for _, op := range operations {
		s.Fault(op.id, 1, f)
	}
}

func (s *Server) due(c *Call) *Fault {
	for _, f := range s.faults {
		prefix, star := strings.CutSuffix(f.op, "*")
		if f.times == 0 || f.op != c.Op && (!star || !strings.HasPrefix(c.Op, prefix)) {
			continue
		}
		if f.skip > 0 {
			f.skip--
			continue
		}
		if f.times > 0 {
			f.times--
		}
		return &f.Fault
	}
	return nil
}

func (s *Server) faulty(r *request, f *Fault) *answer {
	if f.Limit > 0 {
		l := &limit{Fault: *f, from: r.call.At, until: r.call.At.Add(f.Limit)}
		if r.inst != nil {
			r.inst.limit = l
		}
		return l.answer()
	}
	a := refuse(fail(f.Status, "%s", http.StatusText(f.Status)))
	a.header = f.Header
	return a
}

// grace is for requests that were sent before the App received the limit, on a busy machine.
const grace = 2 * time.Second

func (s *Server) limited(r *request) *answer {
	if r.inst == nil || r.inst.limit == nil || r.op.id == "rate-limit/get" ||
		!r.call.At.Before(r.inst.limit.until) {
		return nil
	}
	l := r.inst.limit
	if late := r.call.At.Sub(l.from); late > grace {
		s.violate(
			"%s %s: %.1fs after the limit of %v was told",
			r.Method,
			r.call.Path,
			late.Seconds(),
			l.Limit,
		)
	}
	return l.answer()
}

func (l *limit) answer() *answer {
	text, h := "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", http.Header{}
	for k, v := range l.Header {
		h[k] = v
	}
	if l.RetryAfter {
		h.Set("Retry-After", strconv.Itoa(int(time.Until(l.until)/time.Second)+1))
	}
	if l.Primary {
		text = "API rate limit exceeded for installation."
		h.Set("X-Ratelimit-Remaining", "0")
		h.Set("X-Ratelimit-Reset", strconv.FormatInt(l.until.Unix()+1, 10))
	}
	a := refuse(fail(l.Status, "%s", text))
	a.header = h
	return a
}

// spend counts writes that notify people: GitHub's secondary limit is 80 a minute.
func (s *Server) spend(r *request) {
	now := time.Now()
	var recent []time.Time
	for _, t := range r.inst.written {
		if now.Sub(t) < time.Minute {
			recent = append(recent, t)
		}
	}
	r.inst.written = append(recent, now)
	if n := len(r.inst.written); n > 80 {
		s.violate(
			"%s %s: %d comments and reviews in a minute, GitHub's limit is 80",
			r.Method,
			r.call.Path,
			n,
		)
	}
}
