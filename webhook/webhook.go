// Package webhook takes GitHub's events in and puts jobs into the queue. It makes no outbound
// connection and analyzes nothing.
//
// A delivery is believed only after its HMAC-SHA256 over the raw body was compared in constant time
// with each configured secret. Before that nothing of it is parsed, and no more than 25 MiB
// (GitHub's own limit for a payload) is read. What an event means is decided by one pure function
// per event, in the file of its name: payload in, jobs or a reason to ignore it out. 202 is
// answered only once the queue holds the jobs; the delivery's GUID is marked in the same step, so a
// refused delivery can come again.
//
//	handler := webhook.New(webhook.Options{AppID: id, Secrets: secrets, Queue: q, Log: log, Metrics: registry, Report: page})
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/queue"
)

// storeTimeout leaves GitHub, which waits ten seconds for an answer, time to hear a 503.
const storeTimeout = 5 * time.Second

// Queue is what the webhook needs of the queue.
type Queue interface {
	// Enqueue stores all jobs and marks the delivery, or does neither.
	Enqueue(ctx context.Context, delivery string, jobs ...queue.Job) (queue.Result, error)
	// DropInstallation forgets the jobs of an installation, running ones too.
	DropInstallation(ctx context.Context, id int64) error
	// Ping says whether the queue can store.
	Ping(ctx context.Context) error
}

// Options is what New needs. Secrets and Queue are required.
type Options struct {
	AppID   int64           // tells the App's own check runs and comments; 0 = none is own
	Secrets []config.Secret // each is accepted; with none every delivery is refused
	Queue   Queue
	Log     *slog.Logger
	Metrics prometheus.Registerer // for the webhook's metrics; nil = none
	Report  http.Handler          // GET /reports/{id}; nil = 404
}

// New gives the HTTP surface of the service: /webhook (and /api/github/webhooks, as Probot has it),
// /healthz, /readyz and /reports/{id}. Everything else is 404.
func New(o Options) http.Handler {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	s := &server{Options: o, metrics: newMetrics(o.Metrics), bodies: newBodies()}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.Use(s.recover)
	r.POST("/webhook", s.hook)
	r.POST("/api/github/webhooks", s.hook)
	r.GET("/healthz", func(c *gin.Context) { c.String(http.StatusOK, "ok\n") })
	r.GET("/readyz", s.ready)
	if o.Report != nil {
		r.GET("/reports/:id", gin.WrapH(o.Report))
	}
	return r
}

type server struct {
	Options
	metrics *metrics
	bodies  *bodies
}

// answer is the body of every response to a delivery.
type answer struct {
	Delivery string   `json:"delivery,omitempty"`
	Status   string   `json:"status"` // queued, duplicate, ignored, refused or unavailable
	Reason   string   `json:"reason,omitempty"`
	Jobs     []string `json:"jobs,omitempty"`

	namesake bool
}

func (s *server) hook(c *gin.Context) {
	start := time.Now()
	guid, event := c.GetHeader("X-GitHub-Delivery"), c.GetHeader("X-GitHub-Event")
	code, a := s.take(c, guid, event)
	level, what := slog.LevelInfo, "delivery"
	switch {
	case code == http.StatusServiceUnavailable:
		level, what = slog.LevelError, "delivery not stored"
		c.Header("Retry-After", "5")
	case code >= 400:
		level, what = slog.LevelWarn, "delivery refused"
	case a.namesake:
		level, what = slog.LevelWarn, "another App's check run uses the name of this App's check run"
		s.metrics.namesakes.Inc()
	}
	s.Log.LogAttrs(
		c,
		level,
		what,
		slog.String("delivery", clean(guid)),
		slog.String("event", clean(event)),
		slog.String("status", a.Status),
		slog.Int("code", code),
		slog.String("reason", a.Reason),
		slog.Int("jobs", len(a.Jobs)),
	)
	s.metrics.answered(event, a.Status, code, time.Since(start))
	c.JSON(code, a)
}

// take verifies, decides and stores one delivery.
func (s *server) take(c *gin.Context, guid, event string) (int, answer) {
	refused := func(code int, reason string) (int, answer) {
		return code, answer{Status: "refused", Reason: reason}
	}
	if c.Request.ContentLength > maxBody {
		return refused(http.StatusRequestEntityTooLarge, "the body is larger than 25 MiB")
	}
	mac, err := signature(c.GetHeader("X-Hub-Signature-256"))
	if err != nil {
		return refused(http.StatusUnauthorized, err.Error())
	}
	received, err := s.bodies.read(c.Writer, c.Request)
	defer received.close()
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		return refused(http.StatusRequestEntityTooLarge, "the body is larger than 25 MiB")
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable, answer{Status: "unavailable", Reason: err.Error()}
	case err != nil:
		return refused(http.StatusBadRequest, "the body could not be read")
	}
	secret := signed(received, mac, s.Secrets)
	if secret == 0 {
		return refused(http.StatusUnauthorized, "the signature does not match any secret")
	}
	s.metrics.secrets.WithLabelValues(strconv.Itoa(secret)).Inc()
	if !name(event) {
		return refused(http.StatusBadRequest, "the header X-GitHub-Event is missing")
	}
	if !name(guid) {
		return refused(http.StatusBadRequest, "the header X-GitHub-Delivery is missing")
	}
	d, err := decide(event, guid, received.bytes(), s.AppID)
	if err != nil {
		return refused(http.StatusBadRequest, err.Error())
	}
	return s.store(c.Request.Context(), guid, d)
}

func (s *server) store(ctx context.Context, guid string, d decision) (int, answer) {
	a := answer{Delivery: guid}
	// GitHub may hang up; what it handed over is stored all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if d.drop != 0 {
		if err := s.Queue.DropInstallation(ctx, d.drop); err != nil {
			return http.StatusServiceUnavailable, answer{
				Delivery: guid,
				Status:   "unavailable",
				Reason:   "the queue cannot store it: " + err.Error(),
			}
		}
		a.Status, a.Reason = "queued", "the installation's jobs are removed"
		return http.StatusAccepted, a
	}
	if len(d.jobs) == 0 {
		a.Status, a.Reason, a.namesake = "ignored", d.ignored, d.namesake
		return http.StatusOK, a
	}
	for i := range d.jobs {
		d.jobs[i].Received = time.Now().UTC()
	}
	res, err := s.Queue.Enqueue(ctx, guid, d.jobs...)
	switch {
	case err != nil:
		a.Status, a.Reason = "unavailable", "the queue cannot store it: "+err.Error()
		return http.StatusServiceUnavailable, a
	case res.Duplicate:
		a.Status, a.Reason = "duplicate", "this delivery was already received"
		return http.StatusOK, a
	}
	if d.rerunBy != "" {
		s.Log.Info("audit", "action", "rerun", "by", d.rerunBy, "delivery", guid, "jobs", res.IDs)
	}
	a.Status, a.Jobs = "queued", res.IDs
	return http.StatusAccepted, a
}

func (s *server) ready(c *gin.Context) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), 2*time.Second)
	defer cancel()
	if err := s.Queue.Ping(ctx); err != nil {
		s.Log.Warn("not ready", "error", err)
		c.String(http.StatusServiceUnavailable, "the queue does not respond\n")
		return
	}
	c.String(http.StatusOK, "ready\n")
}

// recover keeps one request's panic from the others. Headers are not logged: they may hold
// credentials of a proxy.
func (s *server) recover(c *gin.Context) {
	defer func() {
		if r := recover(); r != nil {
			s.Log.Error(
				"panic in a request",
				"path",
				c.FullPath(),
				"panic",
				r,
				"stack",
				string(debug.Stack()),
			)
			c.AbortWithStatus(http.StatusInternalServerError)
		}
	}()
	c.Next()
}
