package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/worker"
)

// NewReportID makes the unguessable part of a report's address: 128 bits.
func NewReportID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// ReportKey is the key of the queue's blobs at which a report is kept, as the JSON of
// analyzer.Report.
func ReportKey(id string) string { return "report/" + id }

// lastKey is where the id of a subject's last report is kept.
func lastKey(subject string) string { return "last/" + subject }

// PutReport keeps a report, as the last one of a subject where that is not "". false: it is too
// large to keep.
func (s *Store) PutReport(
	ctx context.Context,
	id, subject string,
	r *analyzer.Report,
) (kept bool, _ error) {
	data, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("store: encode a report: %w", err)
	}
	err = s.Queue.Put(ctx, ReportKey(id), data, TTL)
	if errors.Is(err, queue.ErrTooLarge) {
		s.Log.Warn("the report is too large to keep", "bytes", len(data))
		return false, nil
	}
	if err == nil && subject != "" {
		err = s.Queue.Put(ctx, lastKey(subject), []byte(id), TTL)
	}
	if err != nil {
		return false, worker.Internal(fmt.Errorf("store: write a report: %w", err))
	}
	return true, nil
}

// PageURL is the address of a report's page; "" where none is configured.
func (s *Store) PageURL(id string) string {
	if s.Public == nil {
		return ""
	}
	return s.Public.JoinPath("reports", id).String()
}

// LastReport is the newest report of a subject and its id; nil when there is none (any more).
func (s *Store) LastReport(
	ctx context.Context,
	subject string,
) (r *analyzer.Report, id string, _ error) {
	last, err := s.Queue.Get(ctx, lastKey(subject))
	if err != nil {
		return nil, "", worker.Internal(fmt.Errorf("store: read a report: %w", err))
	}
	if last == nil {
		return nil, "", nil
	}
	data, err := s.Queue.Get(ctx, ReportKey(string(last)))
	if err != nil {
		return nil, "", worker.Internal(fmt.Errorf("store: read a report: %w", err))
	}
	if data == nil {
		return nil, "", nil
	}
	r = &analyzer.Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, "", fmt.Errorf("store: the stored report is damaged: %w", err)
	}
	return r, string(last), nil
}
