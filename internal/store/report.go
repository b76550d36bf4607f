package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// Last is the newest verdict of a subject, and the report of it.
type Last struct {
	ID  string `json:"id"`            // of the report; "" = there is none
	SHA string `json:"sha,omitempty"` // the commit
	// External is the external ID of the check run; "" = an earlier release stored the verdict.
	External string `json:"external,omitempty"`
	// Base is the branch that the report was compared with, and Since the time since which it is
	// the base of the subject. Earlier requests concerned another base.
	Base  string    `json:"base,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// At is the time since which people can read the verdict; zero = it is being posted, or an
	// earlier release stored it.
	At      time.Time `json:"at,omitzero"`
	Missing []string  `json:"missing,omitempty"` // names of comment.Missing
	Breaks  []string  `json:"breaks,omitempty"`  // OWNER/NAME of comment.Impact
	Patch   string    `json:"patch,omitempty"`   // see comment.Check
	Earlier []Last    `json:"earlier,omitempty"` // the newest first, without Earlier

	Report *analyzer.Report `json:"-"` // nil = none is stored
}

// mostEarlier limits the earlier verdicts of a subject.
const mostEarlier = 8

// lastKey returns the key of the Last of a subject.
func lastKey(subject string) string { return "last/" + subject }

// PutLast stores a verdict, whose report is stored already, as the newest of a subject. One with
// the same report and commit is replaced.
func (s *Store) PutLast(ctx context.Context, subject string, l Last) error {
	change := func(old Last) (Last, bool, error) {
		l.Earlier = old.Earlier
		if old.ID == l.ID && old.SHA == l.SHA {
			return l, true, nil
		}
		old.Earlier = nil
		if old.ID != "" || old.SHA != "" {
			l.Earlier = append([]Last{old}, l.Earlier...)
			l.Earlier = l.Earlier[:min(len(l.Earlier), mostEarlier)]
		}
		return l, true, nil
	}
	return update(ctx, s, lastKey(subject), TTL, change)
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

// RulesURL returns the address of the folder with the pages of the rules; "" if Public is nil.
func (s *Store) RulesURL() string {
	if s.Public == nil {
		return ""
	}
	return s.Public.JoinPath("rules").String()
}

// LastReport returns the newest verdict of a subject that has a report, with the report.
func (s *Store) LastReport(ctx context.Context, subject string) (Last, error) {
	newest, err := s.last(ctx, subject)
	if err != nil {
		return newest, err
	}
	all := newest.all()
	if i := slices.IndexFunc(all, func(l Last) bool { return l.ID != "" }); i >= 0 {
		return s.withReport(ctx, all[i])
	}
	return newest, nil
}

// LastAs returns the verdict of a subject whose check run had an external ID, with the report.
// found is false if it is not among the last verdicts. Those of earlier releases have no external
// ID, so then it is that of LastReport.
func (s *Store) LastAs(
	ctx context.Context,
	subject, external string,
) (l Last, found bool, _ error) {
	newest, err := s.last(ctx, subject)
	if err != nil {
		return newest, false, err
	}
	if newest.External == "" || external == "" {
		l, err = s.LastReport(ctx, subject)
		return l, true, err
	}
	all := newest.all()
	i := slices.IndexFunc(all, func(l Last) bool { return l.External == external && l.ID != "" })
	if i < 0 {
		return newest, false, nil
	}
	l, err = s.withReport(ctx, all[i])
	return l, true, err
}

// LastAt returns the newest verdict of a subject that people could read at a time, and the newest
// that has a report, with the report. posting means that a newer one is being posted, which may be
// the one.
func (s *Store) LastAt(
	ctx context.Context,
	subject string,
	at time.Time,
) (verdict, reported Last, posting bool, err error) {
	newest, err := s.last(ctx, subject)
	if err != nil {
		return verdict, reported, false, err
	}
	readable := slices.DeleteFunc(newest.all(), func(l Last) bool {
		// GitHub's times are in seconds. An earlier release stored no commit and no time.
		return l.At.IsZero() && l.SHA != "" || l.At.Truncate(time.Second).After(at)
	})
	if len(readable) > 0 {
		verdict = readable[0]
	}
	if i := slices.IndexFunc(readable, func(l Last) bool { return l.ID != "" }); i >= 0 {
		reported, err = s.withReport(ctx, readable[i])
	}
	return verdict, reported, newest.SHA != "" && newest.At.IsZero(), err
}

// all returns the verdicts, the newest first.
func (l Last) all() []Last {
	earlier := l.Earlier
	l.Earlier = nil
	return append([]Last{l}, earlier...)
}

func (s *Store) last(ctx context.Context, subject string) (l Last, _ error) {
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
	return l, nil
}

func (s *Store) withReport(ctx context.Context, l Last) (Last, error) {
	data, err := s.Queue.Get(ctx, ReportKey(l.ID))
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
