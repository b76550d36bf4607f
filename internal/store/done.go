package store

import (
	"context"
	"time"
)

// doneTTL is longer than the age from which comments are ignored.
const doneTTL = 30 * 24 * time.Hour

func doneKey(request string) string { return "done/" + request }

// MarkDone records that a person's request, by the key of its job, was carried out.
func (s *Store) MarkDone(ctx context.Context, request string) error {
	return s.Put(ctx, doneKey(request), true, doneTTL)
}

// IsDone reports whether MarkDone was called for a request.
func (s *Store) IsDone(ctx context.Context, request string) (done bool, err error) {
	err = s.Get(ctx, doneKey(request), &done)
	return done, err
}
