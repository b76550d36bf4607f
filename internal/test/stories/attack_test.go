package stories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/redistest"
)

// sized returns the size of an attack: full for `make attack`, small for go test.
func sized(short, whole int) int {
	if os.Getenv("COMPAT_ATTACK") != "" {
		return whole
	}
	return short
}

// Requests that never end do not block others, and are closed after a timeout. Some send their
// headers and some their bodies byte by byte, and some announce 25 MiB.
func TestSlowloris(t *testing.T) {
	s := tell(t, world{})
	slow := []struct{ say, drop string }{
		{"POST /webhook HTTP/1.1\r\nHost: x\r\nX-Slow: ", "a"},
		{
			"POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=" + strings.Repeat(
				"0",
				64,
			) + "\r\nContent-Length: 1000000\r\n\r\n",
			"x",
		},
		{
			"POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=" + strings.Repeat(
				"0",
				64,
			) + "\r\nContent-Length: 26214400\r\n\r\n" + strings.Repeat("x", 100_000),
			"x",
		},
		{"", ""},
	}
	n := sized(40, 1000)
	var cut sync.WaitGroup
	ends := make(chan error, n)
	for i := range n {
		c, err := net.Dial("tcp", s.app.addr)
		if err != nil {
			s.Fatal(err)
		}
		how := slow[i%len(slow)]
		cut.Go(func() { // until the app ends it
			defer c.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				_, err := io.WriteString(c, how.say)
				for err == nil && how.drop != "" && ctx.Err() == nil {
					time.Sleep(200 * time.Millisecond)
					_, err = io.WriteString(c, how.drop)
				}
			}()
			_ = c.SetReadDeadline(time.Now().Add(3 * time.Minute))
			_, err := io.Copy(io.Discard, c)
			if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
				ends <- fmt.Errorf("a connection that sends %q is still open", how.drop)
			}
		})
	}
	s.Bad() // while all of them are open
	if mib := s.app.peak(); mib > 400 {
		s.Errorf("the service took %d MiB", mib)
	}
	cut.Wait()
	close(ends)
	for err := range ends {
		s.Error(err)
	}
}

// Thousands of connections from many addresses that each send a small body and then a byte a second,
// and come back when they are closed, delay no delivery beyond GitHub's patience and take little
// memory.
func TestDeliveriesNextToManyConnections(t *testing.T) {
	s := tell(t, world{})
	p := s.Open()
	s.Free()
	before := s.app.resident()
	var strangers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer strangers.Wait()
	defer stop()
	for i := range sized(1200, 6000) {
		strangers.Go(func() {
			for ctx.Err() == nil {
				drip(ctx, s.app.addr, i)
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Second):
				}
			}
		})
	}
	time.Sleep(time.Duration(sized(1, 10)) * time.Second)
	var all sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	lost := 0
	rest := strings.Repeat("x", 100<<10)
	for range sized(80, 2400) {
		time.Sleep(time.Second / 40)
		all.Go(func() {
			event := s.gh.PullEvent(p, "synchronize")
			event["rest"] = rest
			d := s.gh.Send("pull_request", event)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, d.Took)
			if d.Code != http.StatusAccepted {
				s.Logf("a delivery is answered %d %s after %v", d.Code, d.Body, d.Took)
				lost++
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	worst, grown := took[len(took)-1], s.app.peak()-before
	s.Logf("%d deliveries: median %v, 99 %% within %v, at most %v; the service grew by %d MiB",
		len(took), took[len(took)/2], took[len(took)*99/100], worst, grown)
	if worst > 10*time.Second {
		s.Errorf("a delivery took %v", worst)
	}
	if lost > sized(0, 5) { // a thousand new connections a second displace one that is a second old
		s.Errorf("%d deliveries are lost", lost)
	}
	if grown > 256 {
		s.Errorf("the service grew by %d MiB", grown)
	}
}

// drip sends a part of a delivery of a stranger, and then a byte a second until the app closes the
// connection.
func drip(ctx context.Context, addr string, i int) {
	from := &net.TCPAddr{IP: net.IPv4(127, 0, byte(i/250%4), byte(2+i%250))}
	c, err := (&net.Dialer{LocalAddr: from, Timeout: time.Minute}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	length := "Content-Length: 64000\r\n\r\n"
	if i%2 == 0 {
		length = "Transfer-Encoding: chunked\r\n\r\nfa00\r\n"
	}
	_, err = io.WriteString(c, "POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256="+
		strings.Repeat("0", 64)+"\r\n"+length+strings.Repeat("x", 1000+i%50*1000))
	for err == nil && ctx.Err() == nil {
		time.Sleep(time.Second)
		_, err = io.WriteString(c, "x")
	}
}

// Bodies of 25 MiB from many unknown senders are not all held in memory at once, and a larger one
// is not read.
func TestOversizedBodies(t *testing.T) {
	s := tell(t, world{})
	body := make([]byte, 25<<20)
	var senders sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for i := range sized(8, 100) {
		senders.Go(func() {
			h := http.Header{
				"X-Hub-Signature-256": {"sha256=" + strings.Repeat("0", 64)},
				"X-Github-Event":      {"ping"},
				"X-Github-Delivery":   {githubtest.NewGUID()},
			}
			send := body
			if i%4 == 0 {
				send = append(body[:len(body):len(body)], "over"...)
				h.Set("Expect", "100-continue")
			}
			code, _, _ := githubtest.Post(s.gh.Hook, h, send)
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	s.Bad()
	senders.Wait()
	if codes[http.StatusAccepted]+codes[http.StatusOK] != 0 ||
		codes[http.StatusRequestEntityTooLarge] == 0 {
		s.Errorf("the answers are %v, want 413 for what is over the limit and no acceptance", codes)
	}
	if mib := s.app.peak(); mib > 500 {
		s.Errorf("the service took %d MiB", mib)
	}
	s.Logf("answers %v, at most %d MiB", codes, s.app.peak())
}

// Captured deliveries that are sent again with new GUIDs, which the signature does not cover, cause
// no new check run, comment or reply.
func TestReplayedDeliveries(t *testing.T) {
	s := tell(t, world{})
	p := s.Bad()
	old := p.HeadSHA
	s.Summary(p)
	c := s.Say(p.Number, "maintainer", "/compat help")
	eventually(s, func() string {
		if len(s.reactions(c)) == 0 {
			return "no reaction"
		}
		return ""
	})
	s.Push(p, map[string]string{"a.txt": "fixed"})
	s.Finish(p, wheels(cases.Clean("1.2.0")))
	s.want(s.Concluded(p.HeadSHA), "success")
	s.Free()
	seen := func() string {
		return fmt.Sprint(
			s.Verdicts(old),
			s.Verdicts(p.HeadSHA),
			len(s.gh.Checks(s.repo, old)),
			len(s.gh.Checks(s.repo, p.HeadSHA)),
			s.written(p),
			s.reactions(c),
		)
	}
	before := seen()
	for range 3 {
		for _, d := range s.gh.Deliveries() {
			if d.Code/100 == 2 && !d.Redelivery {
				h := s.gh.Headers(d)
				h.Set("X-GitHub-Delivery", githubtest.NewGUID())
				if code, _, body := githubtest.Post(s.gh.Hook, h, d.Payload); code/100 != 2 {
					s.Errorf("%s once more is answered %d %s", d.Event, code, body)
				}
			}
		}
	}
	s.Free()
	if after := seen(); after != before {
		s.Errorf("old deliveries change\n%s\nto\n%s", before, after)
	}
}

// Invalid requests leave nothing behind: no key in Redis, no memory, no label in the metrics.
func TestGarbage(t *testing.T) {
	server := redistest.Start(t)
	s := tell(t, world{redis: server, env: map[string]string{"LOG_LEVEL": "error"}})
	s.Bad()
	o, err := redis.ParseURL(server.URL)
	if err != nil {
		s.Fatal(err)
	}
	rdb := redis.NewClient(o)
	defer rdb.Close()
	keys := func() int64 {
		n, err := rdb.DBSize(t.Context()).Result()
		if err != nil {
			s.Fatal(err)
		}
		return n
	}
	series := func() int {
		_, text := s.app.get(s.app.operator("/metrics"))
		return strings.Count(text, "\n")
	}
	s.garbage(sized(1000, 10_000)) // the growth of the first requests
	s.Free()
	keysBefore, seriesBefore, memory := keys(), series(), s.app.resident()
	n := sized(4000, 100_000)
	s.garbage(n)
	// What the service itself may start to store or count meanwhile: a hundredth of what each request
	// would add.
	const own = 30
	if now := keys(); now > keysBefore+own {
		s.Errorf("%d keys in Redis, %d before", now, keysBefore)
	}
	if now := series(); now > seriesBefore+own {
		s.Errorf("%d lines of metrics, %d before", now, seriesBefore)
	}
	grown := s.app.resident() - memory
	if grown > 24 {
		s.Errorf("%d requests leave %d MiB more of memory, %d before", n, grown, memory)
	}
	s.Logf(
		"%d requests of garbage: %d keys before and after, %d lines of metrics, memory grew by %d MiB "+
			"from %d MiB",
		n,
		keysBefore,
		seriesBefore,
		grown,
		memory,
	)
}

// garbage sends invalid requests: without a signature, with a wrong one, with wrong paths and
// methods, with random headers and bodies.
func (s *story) garbage(n int) {
	s.Helper()
	const senders = 8
	var wait sync.WaitGroup
	for k := range senders {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), uint64(k)))
			client := &http.Client{
				Timeout:   time.Minute,
				Transport: &http.Transport{MaxIdleConnsPerHost: 1},
			}
			defer client.CloseIdleConnections()
			for i := range n / senders {
				noise := make([]byte, random.IntN(2000))
				for i := range noise {
					noise[i] = byte(random.Uint32())
				}
				method, path := []string{"POST", "POST", "POST", "GET", "PUT"}[i%5], []string{"/webhook",
					"/webhook", fmt.Sprintf("/%x", noise[:min(len(noise), 20)]), "/reports/" +
						fmt.Sprintf("%032x", random.Uint64())}[i%4]
				req, err := http.NewRequest(method, s.app.url(path), bytes.NewReader(noise))
				if err != nil {
					s.Error(err)
					return
				}
				req.Header.Set("X-GitHub-Event", fmt.Sprintf("event_%x", random.Uint64()))
				req.Header.Set("X-GitHub-Delivery", githubtest.NewGUID())
				if i%3 > 0 {
					req.Header.Set("X-Hub-Signature-256", githubtest.Sign("guessed", noise))
				}
				res, err := client.Do(req)
				if err != nil {
					s.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode < 400 || res.StatusCode == 503 {
					s.Errorf("%s %s is answered %d", method, path, res.StatusCode)
				}
			}
		})
	}
	wait.Wait()
}

// A repository that is pushed to all the time does not delay others: they are served after a few
// claims, however many of its pushes wait.
func TestOneRepositoryPushesAllTheTime(t *testing.T) {
	s := tell(t, world{env: map[string]string{"COMPAT_WORKERS": "2"}})
	loud := s.newRepo(s.gh.Install("loud"), "loud")
	var others []*githubtest.Repo
	for i := range 4 {
		others = append(others, s.newRepo(s.gh.Install(fmt.Sprint("quiet-", i)), "quiet"))
	}
	maintainer := s.gh.User("maintainer")
	pushes := sized(120, 1000)
	var branches []*githubtest.Pull
	for i := range pushes / 4 {
		branches = append(
			branches,
			s.gh.OpenPull(
				loud,
				loud,
				fmt.Sprint("branch-", i),
				maintainer,
				map[string]string{"a.txt": fmt.Sprint(i)},
			),
		)
	}
	guids := map[string]bool{}
	var heads []*githubtest.Pull
	for i := range pushes {
		p := branches[i%len(branches)]
		s.gh.Push(p, map[string]string{"a.txt": fmt.Sprint("again ", i)})
		s.gh.Send("pull_request", s.gh.PullEvent(p, "synchronize")) // any response
		if i%(pushes/len(others)) == pushes/len(others)/2 {
			r := others[len(heads)]
			q := s.gh.OpenPull(r, r, "feature", maintainer, map[string]string{"a.txt": "x"})
			eventually(s, func() string {
				d := s.gh.Send("pull_request", s.gh.PullEvent(q, "opened"))
				if d.Code != http.StatusAccepted {
					return fmt.Sprintf("it is answered %d", d.Code)
				}
				guids[d.GUID] = true
				return ""
			})
			heads = append(heads, q)
		}
	}
	for _, q := range heads {
		eventually(s, func() string {
			if len(s.gh.Checks(q.Repo, q.HeadSHA)) == 0 {
				return "no check run for " + q.Repo.FullName()
			}
			return ""
		})
	}
	// The number of jobs that were claimed between the response to a delivery and the claim of its own
	// job.
	waited, most := map[string]int{}, 0
	came, longest := map[string]time.Time{}, time.Duration(0)
	for line := range strings.Lines(s.app.log.String()) {
		var at struct{ Time time.Time }
		answered := strings.Contains(line, `"msg":"delivery"`)
		claimed := strings.Contains(line, `"msg":"job claimed"`)
		for guid := range guids {
			if !strings.Contains(line, guid) {
				if _, waits := waited[guid]; waits && claimed {
					waited[guid]++
				}
				continue
			}
			if (answered || claimed) && json.Unmarshal([]byte(line), &at) != nil {
				s.Errorf("the line %s is no JSON", line)
			}
			if answered {
				waited[guid], came[guid] = 0, at.Time
			} else if claimed {
				most, longest = max(most, waited[guid]), max(longest, at.Time.Sub(came[guid]))
				delete(guids, guid)
			}
		}
	}
	if len(guids) > 0 {
		s.Fatalf("%d jobs were never claimed", len(guids))
	}
	// Its turn comes after those of the installations before it, at most five; two claims may be in
	// progress and logged late.
	if most > 7 {
		s.Errorf("a job waited for %d claims", most)
	}
	s.Logf(
		"%d pushes to one repository; the others waited for %d claims and %v at most",
		pushes,
		most,
		longest.Round(time.Millisecond),
	)
}

// Archive bombs in all workers at once: each is refused for its limit, the service stays small, and
// other artifacts are checked meanwhile.
func TestBombsInEveryWorker(t *testing.T) {
	s := tell(t, world{env: map[string]string{"COMPAT_WORKERS": "4"}})
	bomb := cases.Bomb("zeros.so", 8<<10)
	var bombs []*githubtest.Pull
	for i := range 4 {
		p := s.OpenWith(fmt.Sprint("bomb-", i), requiring(fmt.Sprintf("packaging>=2%d", i)))
		s.Finish(p, artifact("bomb", bomb))
		bombs = append(bombs, p)
	}
	p := s.OpenWith("plain", requiring("packaging>=29"))
	s.Finish(p, wheels(cases.Clean("1.1.0")))
	for _, b := range bombs {
		k := s.Concluded(b.HeadSHA)
		s.notPassed(k)
		s.says(shown(k), "limit")
	}
	s.want(s.Concluded(p.HeadSHA), "success")
	if mib := s.app.peak(); mib > 1536 {
		s.Errorf("the service took %d MiB", mib)
	}
}
