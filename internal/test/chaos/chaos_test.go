// Package chaos tests that nothing is lost or duplicated: it sends signed deliveries for many
// pull requests of several installations, with duplicates and further pushes, while processes are
// killed at random, Redis or a master of a Cluster and object storage are killed and restarted, and
// GitHub responds with 502 and 429 or closes connections. At the end the head of each pull request
// must have exactly one completed check run, and at most one summary comment.
//
// With go test it takes some seconds; `make chaos` runs it at full size. With `make rolling` the
// processes run this program and that of another commit in turns, so each is upgraded and rolled
// back many times, and those of one queue are mixed.
package chaos

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/internal/test/githubtest"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
	"github.com/compat-app/compat/internal/test/redistest"
)

// size is the size of a run.
type size struct {
	installations, pulls int
	// additional deliveries per pull request: duplicates, and events that change nothing
	noise    int
	every    time.Duration // average time between two kills
	pace     time.Duration // time between two deliveries of one sender
	patience time.Duration // timeout after the last delivery
}

func sizes() size {
	if os.Getenv("COMPAT_CHAOS") != "" {
		return size{
			installations: 20,
			pulls:         500,
			noise:         20,
			every:         3 * time.Second,
			pace:          20 * time.Millisecond,
			patience:      8 * time.Minute,
		}
	}
	return size{
		installations: 3,
		pulls:         12,
		noise:         4,
		every:         time.Second,
		pace:          40 * time.Millisecond,
		patience:      5 * time.Minute,
	}
}

func TestEmbedded(t *testing.T) { chaos(t) }

func TestRedis(t *testing.T) { chaos(t, redistest.Start(t)) }

func TestCluster(t *testing.T) { chaos(t, redistest.Cluster(t, redistest.Masters(t))...) }

const marker = "<!-- compat:report -->"

// senders is the number of concurrent senders, because GitHub also sends concurrently.
const senders = 4

// chaos uses an embedded queue, one Redis, or the masters of a Cluster and object storage.
func chaos(t *testing.T, redis ...*redistest.Server) {
	t.Parallel()
	s := sizes()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	gh, err := githubtest.Start(githubtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer gh.Close()
	gh.Patience = time.Minute // a busy machine responds late
	env := map[string]string{
		"APP_ID":         fmt.Sprint(gh.AppID),
		"PRIVATE_KEY":    gh.PEM(),
		"WEBHOOK_SECRET": gh.Secret,
		"GITHUB_API_URL": gh.URL(),
		"COMPAT_LEASE":   "2s",
		"COMPAT_WAIT":    "10m",
		"COMPAT_WORKERS": "4",
	}
	var blobs *storage
	if len(redis) > 1 {
		blobs = newStorage(t, env)
		env["COMPAT_PUBLIC_URL"] = "https://compat.example"
	}
	apps := []*app{newApp(t, env)}
	if len(redis) > 0 { // one process receives, two work
		env["REDIS_URL"] = redis[0].URL
		if len(redis) > 1 {
			env["REDIS_URL"], env["COMPAT_PARTITIONS"] = redis[0].ClusterURL(), "16"
		}
		web := maps.Clone(env)
		web["COMPAT_WORKERS"] = "0"
		apps = []*app{newApp(t, web), newApp(t, env), newApp(t, env)}
	}
	gh.Hook = "http://" + apps[0].addr + "/webhook"
	for i, a := range apps {
		a.turn = i // the first runs this release, the second the other one
		a.start(t)
	}

	var pulls []*githubtest.Pull
	maintainer := gh.User("maintainer")
	for i := range s.installations {
		repo := gh.NewRepo(
			gh.Install(fmt.Sprint("org-", i)),
			"widget",
			map[string]string{"pyproject.toml": "[project]\nname = \"widget\"\n"},
		)
		gh.BranchRun(repo, "main", githubtest.NewArtifact("wheels", cases.Dist(cases.Clean("1.0.0"))))
		for n := i; n < s.pulls; n += s.installations {
			pulls = append(
				pulls,
				gh.OpenPull(
					repo,
					repo,
					fmt.Sprint("feature-", n),
					maintainer,
					map[string]string{"a.txt": fmt.Sprint(n)},
				),
			)
		}
	}

	// Send the deliveries.
	var superseded sync.Map // pull request -> a head that it no longer has
	var acknowledged, refused, duplicates atomic.Int64
	work := make(chan *githubtest.Pull)
	var sending sync.WaitGroup
	for n := range senders {
		random := rand.New(rand.NewPCG(seed, uint64(n+2)))
		sending.Go(func() {
			send := func(guid, event string, payload map[string]any) {
				d := gh.SendAs(guid, event, payload)
				switch {
				case d.Code == http.StatusAccepted:
					acknowledged.Add(1)
				case d.Code == http.StatusOK:
					duplicates.Add(1)
				default:
					refused.Add(1)
				}
				time.Sleep(time.Duration(random.Int64N(int64(2 * s.pace))))
			}
			for p := range work {
				deliver(gh, p, random, s.noise, &superseded, send)
			}
		})
	}
	sent := make(chan struct{})
	go func() { // ends with the senders
		for _, p := range pulls {
			work <- p
		}
		close(work)
		sending.Wait()
		close(sent)
	}()

	// Cause failures. They stop after the jobs were affected for a while.
	kills, redisKills, blobKills, faults := 0, 0, 0, 0
	for over, rounds := false, 0; !over || rounds < 4; rounds++ {
		select {
		case <-sent:
			over = true
			time.Sleep(s.every / 2)
		case <-time.After(s.every/2 + time.Duration(random.Int64N(int64(s.every)))):
		}
		f := []githubtest.Fault{{Status: 502}, {Status: 502, After: true}, {Cut: true},
			{Status: 429, Limit: time.Second, RetryAfter: true}}[random.IntN(4)]
		gh.FaultAfter("*", random.IntN(10), 1+random.IntN(2), f)
		faults++
		if len(redis) > 0 && random.IntN(3) == 0 {
			server := redis[random.IntN(len(redis))]
			server.Kill()
			time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
			server.Start()
			redisKills++
			continue
		}
		if blobs != nil && random.IntN(4) == 0 {
			blobs.kill()
			time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
			blobs.start(t)
			blobKills++
			continue
		}
		a := apps[random.IntN(len(apps))]
		a.kill()
		kills++
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		a.start(t)
	}
	// A final restart: deliveries that failed are requested again.
	for _, a := range apps {
		a.kill()
	}
	for _, a := range apps {
		a.start(t)
	}
	calm := time.Now()
	var c counts
	for time.Since(calm) < s.patience {
		if c = count(gh, pulls, &superseded); c.once == len(pulls) && c.open == 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	time.Sleep(2 * time.Second) // wait for duplicates
	c = count(gh, pulls, &superseded)
	redelivered := 0
	for _, d := range gh.Deliveries() {
		if d.Redelivery {
			redelivered++
		}
	}
	t.Logf(
		"%d deliveries: %d acknowledged, %d duplicates or ignored, %d refused; %d redelivered by the "+
			"sweeper",
		len(gh.Deliveries()),
		acknowledged.Load(),
		duplicates.Load(),
		refused.Load(),
		redelivered,
	)
	t.Logf(
		"%d kills of the service, %d of Redis, %d of the object storage, %d faults of GitHub; all "+
			"concluded %.1f s after the last",
		kills,
		redisKills,
		blobKills,
		faults,
		time.Since(calm).Seconds()-2,
	)
	t.Logf(
		"%d heads: %d with one completed check run, %d lost, %d double, %d concluded by mistake; %d "+
			"superseded heads with an open run or a verdict; %d summary comments, %d too many",
		len(pulls),
		c.once,
		c.lost,
		c.double,
		c.wrong,
		c.open,
		c.comments,
		c.surplus,
	)
	if blobs != nil {
		n := blobs.count(t)
		t.Logf("%d objects in the object storage", n)
		// In a short run the storage may be down all the time.
		if n == 0 && (blobKills == 0 || os.Getenv("COMPAT_CHAOS") != "") {
			t.Error("no report is in the object storage")
		}
	}
	limits, crossed := 0, 0
	for _, v := range gh.Violations() {
		// A process that is killed between the response with a limit and storing it does not know
		// the limit, nor does another process.
		if strings.Contains(v, "after the limit") {
			limits++
			continue
		}
		// A duplicate arrived between the sweeper's check and its request.
		if strings.Contains(v, "asks again for delivery") && strings.Contains(v, "answered 20") {
			crossed++
			continue
		}
		t.Error("violation: " + v)
	}
	t.Logf(
		"%d calls during a limit that a process did not know of; %d deliveries requested again that "+
			"had arrived meanwhile",
		limits,
		crossed,
	)
	if c.once != len(pulls) || c.open != 0 || c.surplus != 0 || c.wrong != 0 {
		t.Error(strings.Join(c.complaints, "\n"))
		for _, a := range apps {
			t.Log(a.tail())
		}
	}
}

// manyImports is a library with so many undefined symbols that its report is a large value of the
// queue.
var manyImports = sync.OnceValue(func() []byte {
	text := &strings.Builder{}
	text.WriteString("elf x86_64\nsoname large.so\nneeded libc.so.6\n")
	for i := range 300 {
		fmt.Fprintf(text, "import f%x\n", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	data, err := elftest.Build(text.String())
	if err != nil {
		panic(err)
	}
	return data
})

// deliver sends the events of one pull request, like GitHub does and worse.
func deliver(
	gh *githubtest.Server,
	p *githubtest.Pull,
	random *rand.Rand,
	noise int,
	superseded *sync.Map,
	send func(guid, event string, payload map[string]any),
) {
	artifact := func(bad bool) *githubtest.Artifact {
		w := cases.Clean("1.1.0")
		if bad {
			w = cases.CaseA("1.5.1")
			w.Files["warp/bin/large.so"] = manyImports()
		}
		return githubtest.NewArtifact("wheels", cases.Dist(w))
	}
	var guids []string
	var repeat []func(guid string)
	tell := func(event string, payload map[string]any) {
		guid := githubtest.NewGUID()
		send(guid, event, payload)
		guids = append(guids, guid)
		repeat = append(repeat, func(guid string) { send(guid, event, payload) })
	}
	tell("pull_request", gh.PullEvent(p, "opened"))
	if random.IntN(3) == 0 {
		var old string
		gh.Do(func() { old = p.HeadSHA })
		superseded.Store(p, old)
		gh.Push(p, map[string]string{"a.txt": "again"})
		tell("pull_request", gh.PullEvent(p, "synchronize"))
	}
	tell("workflow_run", gh.RunEvent(gh.PullRun(p, artifact(p.Number%2 == 0)), "completed"))
	for range noise {
		i := random.IntN(len(guids))
		guid := guids[i]
		if random.IntN(4) == 0 {
			guid = githubtest.NewGUID() // the same event as a new delivery
		}
		repeat[i](guid)
	}
}

// counts are the results for the pull requests.
type counts struct {
	once, lost, double, wrong, open int
	comments, surplus               int
	complaints                      []string
}

func count(gh *githubtest.Server, pulls []*githubtest.Pull, superseded *sync.Map) (c counts) {
	for _, p := range pulls {
		var head string
		var number int
		gh.Do(func() { head, number = p.HeadSHA, p.Number })
		complain := func(format string, a ...any) {
			c.complaints = append(
				c.complaints,
				fmt.Sprintf("%s#%d: ", p.Repo.FullName(), number)+fmt.Sprintf(format, a...),
			)
		}
		completed, unfinished := 0, 0
		want := "success"
		if number%2 == 0 {
			want = "failure"
		}
		for _, k := range gh.Checks(p.Repo, head) {
			if k.Status != "completed" {
				unfinished++
				continue
			}
			completed++
			if k.Conclusion != want {
				c.wrong++
				complain("concluded as %s, want %s: %s: %s", k.Conclusion, want, k.Title, k.Summary)
			}
		}
		if old, ok := superseded.Load(p); ok {
			for _, k := range gh.Checks(p.Repo, old.(string)) {
				if k.Status != "completed" || k.Conclusion == "success" ||
					k.Conclusion == "failure" {
					c.open++
					complain("the superseded head %s has a check run that is %s %s", old, k.Status, k.Conclusion)
				}
			}
		}
		switch {
		case completed == 1:
			c.once++
		case completed == 0:
			c.lost++
			complain("no completed check run on %s, %d open", head, unfinished)
		default:
			c.double++
			complain("%d completed check runs on %s", completed, head)
		}
		summaries := 0
		for _, k := range gh.CommentsBy(gh.Bot(), p.Repo, number) {
			if strings.Contains(k.Body, marker) && k.Minimized == "" {
				summaries++
			}
		}
		c.comments += summaries
		if summaries > 1 {
			c.surplus += summaries - 1
			complain("%d summary comments", summaries)
		}
	}
	return c
}
