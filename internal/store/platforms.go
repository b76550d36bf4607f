package store

import (
	"context"
	"time"
)

// platformsTTL is much longer than a job waits in the queue.
const platformsTTL = 3 * 24 * time.Hour

func platformsKey(forceID string) string { return "also/" + forceID }

// PutPlatforms stores the platforms that a person named in a recheck.
func (s *Store) PutPlatforms(ctx context.Context, forceID string, names []string) error {
	return s.Put(ctx, platformsKey(forceID), names, platformsTTL)
}

// Platforms returns the platforms stored by PutPlatforms; nil = none.
func (s *Store) Platforms(ctx context.Context, forceID string) (names []string, err error) {
	err = s.Get(ctx, platformsKey(forceID), &names)
	return names, err
}
