package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/internal/queue"
)

// maxSkew is half the tolerance of a JWT: GitHub refuses a token that was issued in the future. The
// clock of Redis is taken as the reference.
const maxSkew = 30 * time.Second

// readiness is the webhook's queue. Its Ping also checks the private key and the clock.
type readiness struct {
	*queue.Queue
	key crypto.Signer

	mu     sync.Mutex
	signed time.Time // when the key was last tried
	err    error     // why it could not sign then
}

// signEvery is how often the key is tried: a key management service may charge for a signature, and
// anybody may ask for /readyz.
const signEvery = time.Minute

// sign returns an error if the private key cannot sign.
func (r *readiness) sign() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.signed) < signEvery {
		return r.err
	}
	digest := sha256.Sum256([]byte("compat"))
	_, r.err = r.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	r.signed = time.Now()
	return r.err
}

// newReadiness returns an error if the key cannot sign. It also exports the difference of the
// clocks as a metric.
func newReadiness(r prometheus.Registerer, q *queue.Queue, key crypto.Signer) (*readiness, error) {
	ready := &readiness{Queue: q, key: key}
	if err := ready.sign(); err != nil {
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
	return ready, nil
}

// Ping returns nil if the queue can store jobs, the private key can sign, and the clock agrees with
// the queue's to within maxSkew.
func (r *readiness) Ping(ctx context.Context) error {
	if err := r.Queue.Ping(ctx); err != nil {
		return err
	}
	if err := r.sign(); err != nil {
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
