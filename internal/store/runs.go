package store

import (
	"context"
	"fmt"
	"time"
)

// ranTTL is how long it is stored that a workflow run of a commit has completed.
const ranTTL = 3 * 24 * time.Hour

func ranKey(repository int64, sha string) string {
	return fmt.Sprintf("ran/%d/%s", repository, sha)
}

// MarkRan records that a workflow run of a commit has completed.
func (s *Store) MarkRan(ctx context.Context, repository int64, sha string) error {
	return s.Put(ctx, ranKey(repository, sha), 1, ranTTL)
}

// HasRan reports whether a workflow run of a commit has completed.
func (s *Store) HasRan(ctx context.Context, repository int64, sha string) (bool, error) {
	ran := 0
	err := s.Get(ctx, ranKey(repository, sha), &ran)
	return ran != 0, err
}
