package main

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/internal/bucket"
	"github.com/compat-app/compat/internal/index"
)

// githubCalls is the transport to GitHub. It counts responses and exports the remaining calls of
// the rate limits.
type githubCalls struct {
	base  http.RoundTripper
	api   string // host; downloads go to others
	calls *prometheus.CounterVec
	desc  *prometheus.Desc

	mu   sync.Mutex
	left map[window]int
}

// window is the rate limit of one installation and one class until it is reset. GitHub's headers do
// not name the installation; of two windows that are reset in the same second, the one with fewer
// remaining calls counts.
type window struct {
	class string
	reset int64 // Unix seconds
}

// limitClasses are the rate limits that compat's calls count against (GitHub's documentation, "Rate
// limits for the REST API" and "GraphQL").
var limitClasses = []string{"core", "graphql"}

func newGithubCalls(r prometheus.Registerer, api string) *githubCalls {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 20
	base.ResponseHeaderTimeout = 30 * time.Second // GitHub ends its own requests after ten
	g := &githubCalls{
		base: base, api: api, left: map[window]int{},
		calls: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_github_answers_total",
				Help: "Responses of GitHub's API and its storage by status; \"none\": the connection failed.",
			},
			[]string{"host", "code"},
		),
		desc: prometheus.NewDesc(
			"compat_github_rate_limit_remaining",
			"Remaining calls of the installation with the fewest.",
			[]string{"class"},
			nil,
		),
	}
	g.calls.WithLabelValues("api", "200")
	r.MustRegister(g.calls, g)
	return g
}

// RoundTrip implements http.RoundTripper.
func (g *githubCalls) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := g.base.RoundTrip(r)
	host, code := "storage", "none"
	if r.URL.Host == g.api {
		host = "api"
	}
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
		g.note(resp.Header)
	}
	g.calls.WithLabelValues(host, code).Inc()
	return resp, err
}

func (g *githubCalls) note(h http.Header) {
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, resetErr := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err != nil || resetErr != nil {
		return
	}
	class := h.Get("X-RateLimit-Resource")
	if class != "graphql" {
		class = "core"
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w := window{class, reset}
	if known, ok := g.left[w]; !ok || left < known {
		g.left[w] = left
	}
	if len(g.left) > 10000 { // an hour has 3,600 seconds, and there are two classes
		g.forget(time.Now())
	}
}

// forget removes the windows that have ended.
func (g *githubCalls) forget(now time.Time) {
	for w := range g.left {
		if w.reset < now.Unix() {
			delete(g.left, w)
		}
	}
}

// Describe implements prometheus.Collector.
func (g *githubCalls) Describe(ch chan<- *prometheus.Desc) { ch <- g.desc }

// Collect implements prometheus.Collector.
func (g *githubCalls) Collect(ch chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(time.Now())
	for _, class := range limitClasses {
		least := -1
		for w, left := range g.left {
			if w.class == class && (least < 0 || left < least) {
				least = left
			}
		}
		if least >= 0 {
			ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, float64(least), class)
		}
	}
}

// countedCache counts the hits and misses of the package index's cache.
type countedCache struct {
	index.Cache
	lookups *prometheus.CounterVec
}

func newCountedCache(r prometheus.Registerer, c index.Cache) countedCache {
	k := countedCache{
		c,
		prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "compat_index_cache_total",
				Help: "Lookups of wheel facts in the cache.",
			},
			[]string{"result"},
		),
	}
	k.lookups.WithLabelValues("hit")
	k.lookups.WithLabelValues("miss")
	r.MustRegister(k.lookups)
	return k
}

// Get implements index.Cache.
func (k countedCache) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := k.Cache.Get(ctx, key)
	result := "hit"
	if value == nil {
		result = "miss"
	}
	k.lookups.WithLabelValues(result).Inc()
	return value, err
}

// countedBucket counts the requests to the bucket of COMPAT_BLOBS.
type countedBucket struct {
	bucket.Bucket
	requests *prometheus.CounterVec
}

func newCountedBucket(r prometheus.Registerer) *countedBucket {
	b := &countedBucket{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "compat_bucket_requests_total",
		Help: "Requests to the bucket of COMPAT_BLOBS.",
	}, []string{"operation", "outcome"})}
	for _, operation := range []string{"put", "get"} {
		b.requests.WithLabelValues(operation, "done")
		b.requests.WithLabelValues(operation, "failed")
	}
	r.MustRegister(b.requests)
	return b
}

// Put implements bucket.Bucket.
func (b *countedBucket) Put(ctx context.Context, name string, value []byte) error {
	err := b.Bucket.Put(ctx, name, value)
	b.count("put", err)
	return err
}

// Get implements bucket.Bucket.
func (b *countedBucket) Get(ctx context.Context, name string) ([]byte, error) {
	value, err := b.Bucket.Get(ctx, name)
	b.count("get", err)
	return value, err
}

func (b *countedBucket) count(operation string, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	b.requests.WithLabelValues(operation, outcome).Inc()
}

// measureSpace exports the free space of the data folder, on systems that report it.
func measureSpace(r prometheus.Registerer, dir string) {
	if _, ok := freeBytes(dir); !ok {
		return
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "compat_data_free_bytes", Help: "Free bytes in the file system of COMPAT_DATA.",
	}, func() float64 {
		free, _ := freeBytes(dir)
		return float64(free)
	}))
}
