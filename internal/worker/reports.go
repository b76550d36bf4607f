package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/queue"
)

// reportTTL is how long a report page can be read.
const reportTTL = 30 * 24 * time.Hour

// newReportID makes the unguessable part of a report's address: 128 bits.
func newReportID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// ReportKey is under which key of the queue's blobs the report of a page lies, as the JSON of
// analyzer.Report.
func ReportKey(id string) string { return "report/" + id }

// lastKey is where the id of a subject's last report stands.
func lastKey(subject string) string { return "last/" + subject }

// publish stores the report and gives its page's address; "" where no address is configured or the
// report is too large to keep.
func (t *task) publish(ctx context.Context, id string, r *analyzer.Report) (string, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("worker: %w", err)
	}
	err = t.Queue.Put(ctx, ReportKey(id), data, reportTTL)
	if errors.Is(err, queue.ErrTooLarge) {
		t.Log.Warn("the report is too large to keep", "bytes", len(data))
		return "", nil
	}
	if err == nil {
		err = t.Queue.Put(ctx, lastKey(t.job.Key), []byte(id), reportTTL)
	}
	if err != nil {
		return "", &ownFault{fmt.Errorf("worker: store the report: %w", err)}
	}
	return t.page(id), nil
}

// maxProblemLines is more than any problem has to say, the logs of failed jobs aside.
const maxProblemLines = 60

// publishProblem stores why there is no report as a page of its own, and gives its address; ""
// where no address is configured. What the last report said stays.
func (t *task) publishProblem(ctx context.Context, c comment.Check) (string, error) {
	if t.Config.PublicURL == nil {
		return "", nil
	}
	r := analyzer.NewReport(t.Version)
	r.Verdict, r.Notes = analyzer.Unchecked, []string{c.Title}
	for line := range strings.Lines(c.Summary) {
		if line = strings.TrimSpace(line); line != "" && len(r.Notes) < maxProblemLines {
			r.Notes = append(r.Notes, line)
		}
	}
	id := newReportID()
	data, err := json.Marshal(r)
	if err == nil {
		err = t.Queue.Put(ctx, ReportKey(id), data, reportTTL)
	}
	if err != nil {
		return "", &ownFault{fmt.Errorf("worker: store a page: %w", err)}
	}
	return t.page(id), nil
}

// page is the address of a report; "" where no address is configured.
func (t *task) page(id string) string {
	if t.Config.PublicURL == nil {
		return ""
	}
	return t.Config.PublicURL.JoinPath("reports", id).String()
}

// lastReport is the newest report of a subject, with its page's address; nil when there is none
// (any more).
func (t *task) lastReport(ctx context.Context, subject string) (*analyzer.Report, string, error) {
	id, err := t.Queue.Get(ctx, lastKey(subject))
	if err != nil || id == nil {
		return nil, "", err
	}
	data, err := t.Queue.Get(ctx, ReportKey(string(id)))
	if err != nil || data == nil {
		return nil, "", err
	}
	r := &analyzer.Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, "", fmt.Errorf("worker: the stored report is damaged: %w", err)
	}
	return r, t.page(string(id)), nil
}
