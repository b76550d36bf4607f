package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/worker"
)

// NewReportID returns the unguessable part of a report's address: 128 bits in hex.
func NewReportID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// ReportKey returns the key of a stored report, which is an Archive.
func ReportKey(id string) string { return "report/" + id }

// Last is the newest report of a subject.
type Last struct {
	ID string `json:"id"`
	// Base is the branch that the report was compared with, and Since the time since which it is
	// the base of the subject. Earlier requests concerned another base.
	Base  string    `json:"base,omitempty"`
	Since time.Time `json:"since,omitzero"`

	Report *analyzer.Report `json:"-"` // nil = none is stored
}

// lastKey returns the key of the Last of a subject.
func lastKey(subject string) string { return "last/" + subject }

// PutLast stores a report, which is stored already, as the newest of a subject.
func (s *Store) PutLast(ctx context.Context, subject string, l Last) error {
	return s.Put(ctx, lastKey(subject), l, TTL)
}

// PutReport stores a report and its view. It returns false if the report is too large.
func (s *Store) PutReport(
	ctx context.Context,
	id string,
	r *analyzer.Report,
	v *report.View,
) (kept bool, _ error) {
	data, err := EncodeReport(r, v)
	if err != nil {
		return false, err
	}
	err = s.Queue.Put(ctx, ReportKey(id), data, TTL)
	if errors.Is(err, queue.ErrTooLarge) {
		s.Log.Warn("the report is too large to keep", "bytes", len(data))
		return false, nil
	}
	if err != nil {
		return false, worker.Internal(fmt.Errorf("store: write a report: %w", err))
	}
	return true, nil
}

// PageURL returns the address of a report's page; "" if Public is nil.
func (s *Store) PageURL(id string) string {
	if s.Public == nil {
		return ""
	}
	return s.Public.JoinPath("reports", id).String()
}

// LastReport returns the newest report of a subject.
func (s *Store) LastReport(ctx context.Context, subject string) (Last, error) {
	var l Last
	data, err := s.Queue.Get(ctx, lastKey(subject))
	if err != nil {
		return l, worker.Internal(fmt.Errorf("store: read a report: %w", err))
	}
	if data == nil {
		return l, nil
	}
	if json.Unmarshal(data, &l) != nil { // earlier releases stored the ID only
		l = Last{ID: string(data)}
	}
	data, err = s.Queue.Get(ctx, ReportKey(l.ID))
	if errors.Is(err, queue.ErrBucket) {
		s.Log.Warn("a report can't be read", "report", l.ID, "error", err)
		return l, nil
	}
	if err != nil {
		return l, worker.Internal(fmt.Errorf("store: read a report: %w", err))
	}
	if data == nil {
		return l, nil
	}
	archive, err := OpenReport(data)
	if err == nil {
		l.Report, err = archive.Report()
	}
	if err != nil {
		s.Log.Warn("a stored value is damaged", "key", ReportKey(l.ID), "error", err)
		l.Report = nil
	}
	return l, nil
}
