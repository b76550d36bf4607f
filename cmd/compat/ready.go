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

// maxSkew is half of what a JWT's times tolerate: GitHub refuses one that is issued in the future.
// Redis is not GitHub, but of two clocks that differ one is wrong.
const maxSkew = 30 * time.Second

// readiness is the queue as the webhook sees it, with a Ping that says whether this process is fit
// for service.
type readiness struct {
	*queue.Queue
	key *rsa.PrivateKey
}

// newReadiness also exports the skew of the clocks.
func newReadiness(r prometheus.Registerer, q *queue.Queue, key []byte) (*readiness, error) {
	parsed, err := github.ParseKey(key)
	if err != nil {
		return nil, err
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "compat_clock_skew_seconds", Help: "How far this process's clock is ahead of the queue's; 0 while the queue doesn't answer.",
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

// Ping returns nil when the queue can store, the private key signs, and the clock is close to the
// queue's.
func (r *readiness) Ping(ctx context.Context) error {
	if err := r.Queue.Ping(ctx); err != nil {
		return err
	}
	digest := sha256.Sum256([]byte("compat"))
	if _, err := rsa.SignPKCS1v15(rand.Reader, r.key, crypto.SHA256, digest[:]); err != nil {
		return fmt.Errorf("the private key does not sign: %w", err)
	}
	skew, err := r.Skew(ctx)
	if err != nil {
		return err
	}
	if skew.Abs() > maxSkew {
		return fmt.Errorf(
			"this machine's clock differs from the one of Redis by %s, and GitHub refuses tokens signed at a wrong time: set it right, with NTP",
			skew.Round(time.Second),
		)
	}
	return nil
}
