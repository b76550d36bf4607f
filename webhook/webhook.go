// Package webhook receives GitHub's webhook events and puts jobs into the queue. It makes no
// outbound connections and analyzes nothing.
//
// A delivery is accepted only if its HMAC-SHA256 over the raw body matches one of the configured
// secrets, compared in constant time. Before that at most 25 MiB are read (GitHub's payload limit)
// and nothing is parsed. One pure function per event, in the file with the event's name, turns a
// payload into jobs or a reason to ignore it. The response is 202 once the queue has stored the
// jobs. The delivery's GUID is stored in the same step, so a delivery that failed can be
// redelivered; for requests of people also a digest of the body, so that a recorded one cannot be
// sent again under another GUID. The headers are not signed, so a payload with members that its
// event never has is refused.
//
//	handler := webhook.New(webhook.Options{AppID: id, Secrets: secrets, Queue: q})
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/queue"
)

// storeTimeout leaves time to send a 503 before GitHub's ten seconds end.
const storeTimeout = 5 * time.Second

// Queue is the part of the queue that the webhook uses.
type Queue interface {
	// EnqueueOnce stores all jobs and marks the delivery and its body, or does neither.
	EnqueueOnce(ctx context.Context, delivery, body string, jobs ...queue.Job) (queue.Result, error)
	// Ping returns an error if the queue cannot store jobs.
	Ping(ctx context.Context) error
}

// Options configures New. Secrets and Queue are required.
type Options struct {
	AppID int64 // identifies the App's own check runs and comments; 0 = unknown
	// a signature by any of them is valid; empty = every delivery is refused
	Secrets *config.Secrets // each is valid; without any, every delivery is refused
	Queue   Queue
	Log     *slog.Logger          // nil = discard
	Metrics prometheus.Registerer // nil = not registered
	Report  http.Handler          // GET / and below /reports/ and /rules/; nil = 404
}

// Healthy is the response of /healthz.
const Healthy = "ok\n"

// New returns the HTTP handler of the service: /webhook (and /api/github/webhooks, the path that
// Probot uses), /healthz, /readyz and /reports/{id}. Other paths are answered with 404.
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
	r.GET("/healthz", func(c *gin.Context) { c.String(http.StatusOK, Healthy) })
	r.GET("/readyz", s.ready)
	if o.Report != nil {
		r.GET("/", gin.WrapH(o.Report))
		r.GET("/reports/*path", gin.WrapH(o.Report))
		r.GET("/rules/*path", gin.WrapH(o.Report))
	}
	return r
}

type server struct {
	Options
	metrics *metrics
	bodies  *bodies
}

// answer is the response body for a delivery.
type answer struct {
	Delivery string   `json:"delivery,omitempty"`
	Status   string   `json:"status"` // queued, duplicate, ignored, refused or unavailable
	Reason   string   `json:"reason,omitempty"`
	Jobs     []string `json:"jobs,omitempty"`

	namesake bool
	err      error // for the log only: GitHub shows answers to everybody who manages the App
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
	status := a.Status
	if event == "ping" && code == http.StatusOK {
		status = event
	}
	attrs := []slog.Attr{
		slog.String("delivery", clean(guid)),
		slog.String("event", clean(event)),
		slog.String("status", status),
		slog.Int("code", code),
		slog.String("reason", a.Reason),
		slog.Int("jobs", len(a.Jobs)),
	}
	if a.err != nil {
		attrs = append(attrs, slog.Any("error", a.err))
	}
	if code >= 400 {
		attrs = append(attrs, sender(c.Request)...)
	}
	s.Log.LogAttrs(c, level, what, attrs...)
	s.metrics.answered(event, a.Status, code, time.Since(start))
	c.JSON(code, a)
}

// sender returns who sent a request, for the log. remote is the other end of the connection, which
// is the reverse proxy if there is one. forwarded is the last address of X-Forwarded-For, which
// that proxy appends; without a proxy anybody can write it. Other text is left out.
func sender(r *http.Request) []slog.Attr {
	attrs := []slog.Attr{slog.String("remote", r.RemoteAddr)}
	if all := r.Header.Values("X-Forwarded-For"); len(all) > 0 {
		last := all[len(all)-1]
		last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
		if at, err := netip.ParseAddr(last); err == nil {
			attrs = append(attrs, slog.String("forwarded", at.WithZone("").String()))
		}
	}
	return attrs
}

// take verifies a delivery, decides what to do and stores the jobs.
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
	secret := signed(received, mac, s.Secrets.All())
	if secret == 0 {
		return refused(http.StatusUnauthorized, "the signature does not match any secret")
	}
	trust(c.Request.Context())
	s.metrics.secrets.WithLabelValues(strconv.Itoa(secret)).Inc()
	for _, header := range []string{"X-GitHub-Event", "X-GitHub-Delivery"} {
		switch value := c.GetHeader(header); {
		case value == "":
			return refused(http.StatusBadRequest, "the header "+header+" is missing")
		case !name(value):
			return refused(http.StatusBadRequest, "the header "+header+" is not valid")
		}
	}
	d, err := decide(event, guid, received.bytes(), s.AppID)
	if err != nil {
		return refused(http.StatusBadRequest, err.Error())
	}
	return s.store(c.Request.Context(), guid, d)
}

// store stores the jobs.
func (s *server) store(ctx context.Context, guid string, d decision) (int, answer) {
	a := answer{Delivery: guid}
	// The jobs are stored even if GitHub closes the connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if len(d.jobs) == 0 {
		a.Status, a.Reason, a.namesake = "ignored", d.ignored, d.namesake
		return http.StatusOK, a
	}
	for i := range d.jobs {
		d.jobs[i].Received = time.Now().UTC()
	}
	res, err := s.Queue.EnqueueOnce(ctx, guid, d.digest, d.jobs...)
	switch {
	case err != nil:
		return notStored(a, err)
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

func notStored(a answer, err error) (int, answer) {
	a.Status, a.Reason, a.err = "unavailable", "the queue cannot store it", err
	return http.StatusServiceUnavailable, a
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

// recover turns a panic into a 500. Headers are not logged because a proxy may add credentials.
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
