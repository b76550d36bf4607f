package store

import (
	"context"
	"fmt"
	"time"
)

// ranTTL is how long it is known that a workflow run of a commit has ended; after that a head is
// looked at without.
const ranTTL = 3 * 24 * time.Hour

func ranKey(repository int64, sha string) string {
	return fmt.Sprintf("ran/%d/%s", repository, sha)
}

// MarkRan notes that a workflow run of a commit has ended.
func (s *Store) MarkRan(ctx context.Context, repository int64, sha string) error {
	return s.Put(ctx, ranKey(repository, sha), 1, ranTTL)
}

// HasRan reports whether a workflow run of a commit has ended.
func (s *Store) HasRan(ctx context.Context, repository int64, sha string) (bool, error) {
	ran := 0
	err := s.Get(ctx, ranKey(repository, sha), &ran)
	return ran != 0, err
}
