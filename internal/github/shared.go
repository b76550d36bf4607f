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
	same := func(data []byte) ([]byte, error) { return data, nil }
	return updateAs(ctx, s, key, ttl, same, same, change)
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
	open := func(data []byte) ([]byte, error) { return s.seal.Open(nil, nil, data, []byte(key)) }
	seal := func(text []byte) ([]byte, error) {
		//nolint:gosec // NewGCMWithRandomNonce makes the nonce
		return s.seal.Seal(nil, nil, text, []byte(key)), nil
	}
	_, ok = updateAs(ctx, s, key, ttl, open, seal, change)
	return ok
}

// updateAs is update for a value whose JSON is stored as seal returns it, and read with open. A
// value that open or the JSON decoder refuses is treated as missing.
func updateAs[T any](
	ctx context.Context,
	s *shared,
	key string,
	ttl time.Duration,
	open, seal func([]byte) ([]byte, error),
	change func(T) (T, bool),
) (value T, ok bool) {
	ok = s.request(ctx, func(ctx context.Context) error {
		return s.store.Update(ctx, key, ttl, func(old []byte) ([]byte, error) {
			var before T
			if text, err := open(old); err != nil || json.Unmarshal(text, &before) != nil {
				before = *new(T)
			}
			next, changed := change(before)
			value = next
			if !changed {
				return nil, nil
			}
			text, err := json.Marshal(next)
			if err != nil {
				return nil, err
			}
			return seal(text)
		})
	})
	return value, ok
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
