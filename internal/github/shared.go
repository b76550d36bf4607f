package github

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Shared stores values for all replicas of an App. *queue.Queue implements it.
type Shared interface {
	// Get returns a value; nil, nil if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// Update replaces a value by the result of change, for ttl. The argument of change is nil if
	// there is no value. If change returns nil, the value is not changed. change may be called
	// several times.
	Update(
		ctx context.Context,
		key string,
		ttl time.Duration,
		change func(old []byte) ([]byte, error),
	) error
}

const (
	sharedTimeout = time.Second      // of one request
	sharedPause   = 10 * time.Second // without requests after one failed
)

// shared reads and writes what the replicas know together. If the store does not respond, each
// replica continues with what it knows itself. nil has no store.
type shared struct {
	store Shared
	seal  cipher.AEAD // encrypts tokens
	log   *slog.Logger

	mu     sync.Mutex
	resume time.Time // no request before that
}

// newShared derives the key for tokens from a secret with HKDF (RFC 5869). Tokens are encrypted
// with AES-256-GCM; a nonce is random and used once.
func newShared(store Shared, secret []byte, log *slog.Logger) (*shared, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "compat installation tokens", 32)
	if err != nil {
		return nil, fmt.Errorf("github: derive a key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("github: %w", err)
	}
	return &shared{store: store, seal: seal, log: log}, nil
}

// read decodes a value into to, which is not changed if there is none. It returns false if the
// store does not respond.
func (s *shared) read(ctx context.Context, key string, to any) bool {
	return s.request(ctx, func(ctx context.Context) error {
		data, err := s.store.Get(ctx, key)
		if err == nil && len(data) > 0 {
			err = json.Unmarshal(data, to)
		}
		return err
	})
}

// update replaces a value by the result of change, unless that returns false, and returns the
// value. The argument of change is the zero value if there is none. ok is false if the store does
// not respond.
func update[T any](
	ctx context.Context,
	s *shared,
	key string,
	ttl time.Duration,
	change func(T) (T, bool),
) (value T, ok bool) {
	ok = s.request(ctx, func(ctx context.Context) error {
		return s.store.Update(ctx, key, ttl, func(old []byte) ([]byte, error) {
			value = *new(T)
			if len(old) > 0 && json.Unmarshal(old, &value) != nil {
				value = *new(T) // damaged
			}
			next, changed := change(value)
			value = next
			if !changed {
				return nil, nil
			}
			return json.Marshal(value)
		})
	})
	return value, ok
}

// updateSealed is update for an encrypted value. A value that was encrypted with another key, or
// for another name, is treated as missing.
func updateSealed[T any](
	ctx context.Context,
	s *shared,
	key string,
	ttl time.Duration,
	change func(T) (T, bool),
) (ok bool) {
	return s.request(ctx, func(ctx context.Context) error {
		return s.store.Update(ctx, key, ttl, func(old []byte) ([]byte, error) {
			var value T
			text, err := s.seal.Open(nil, nil, old, []byte(key))
			if err != nil || json.Unmarshal(text, &value) != nil {
				value = *new(T)
			}
			value, changed := change(value)
			if !changed {
				return nil, nil
			}
			if text, err = json.Marshal(value); err != nil {
				return nil, err
			}
			//nolint:gosec // NewGCMWithRandomNonce makes the nonce
			return s.seal.Seal(nil, nil, text, []byte(key)), nil
		})
	})
}

// request makes a request, unless one failed lately. It returns false if there was no response.
func (s *shared) request(ctx context.Context, f func(context.Context) error) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	paused := time.Now().Before(s.resume)
	s.mu.Unlock()
	if paused {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	err := f(limited)
	if err != nil && ctx.Err() == nil {
		s.mu.Lock()
		s.resume = time.Now().Add(sharedPause)
		s.mu.Unlock()
		s.log.Warn("the limits and tokens of other replicas can't be read", "error", err)
	}
	return err == nil
}
