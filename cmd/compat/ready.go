package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/queue"
)

// maxSkew is half the tolerance of a JWT: GitHub refuses a token that was issued in the future. The
// clock of Redis is taken as the reference.
const maxSkew = 30 * time.Second

// readiness is the webhook's queue. Its Ping also checks the private key and the clock.
type readiness struct {
	*queue.Queue
	key *rsa.PrivateKey
}

// newReadiness also exports the difference of the clocks as a metric.
func newReadiness(r prometheus.Registerer, q *queue.Queue, key []byte) (*readiness, error) {
	parsed, err := github.ParseKey(key)
	if err != nil {
		return nil, err
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "compat_clock_skew_seconds", Help: "Seconds by which this process's clock is ahead of " +
			"the queue's clock; 0 if unknown.",
	}, func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		skew, err := q.Skew(ctx)
		if err != nil {
			return 0
		}
		return skew.Seconds()
	}))
	return &readiness{q, parsed}, nil
}

// Ping returns nil if the queue can store jobs, the private key can sign, and the clock agrees with
// the queue's to within maxSkew.
func (r *readiness) Ping(ctx context.Context) error {
	if err := r.Queue.Ping(ctx); err != nil {
		return err
	}
	digest := sha256.Sum256([]byte("compat"))
	if _, err := rsa.SignPKCS1v15(rand.Reader, r.key, crypto.SHA256, digest[:]); err != nil {
		return fmt.Errorf("cannot sign with the private key: %w", err)
	}
	skew, err := r.Skew(ctx)
	if err != nil {
		return err
	}
	if skew.Abs() > maxSkew {
		return fmt.Errorf(
			"this machine's clock differs from that of Redis by %s; synchronize it (NTP), or GitHub "+
				"refuses its tokens",
			skew.Round(time.Second),
		)
	}
	return nil
}
