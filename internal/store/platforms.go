package store

import (
	"context"
	"time"
)

// platformsTTL is far longer than a job waits for its turn.
const platformsTTL = 3 * 24 * time.Hour

func platformsKey(forceID string) string { return "also/" + forceID }

// PutPlatforms keeps the platforms that a person named who wants a head checked again.
func (s *Store) PutPlatforms(ctx context.Context, forceID string, names []string) error {
	return s.Put(ctx, platformsKey(forceID), names, platformsTTL)
}

// Platforms are those of PutPlatforms; nil: none were named.
func (s *Store) Platforms(ctx context.Context, forceID string) (names []string, err error) {
	err = s.Get(ctx, platformsKey(forceID), &names)
	return names, err
}
