package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	gh "github.com/google/go-github/v60/github"
)

// Delivery is a failed webhook delivery.
type Delivery struct {
	ID            int64 // of the last attempt, for Redeliver
	GUID          string
	Event, Action string
	Installation  int64 // 0 = none
	Code          int   // HTTP status of the last attempt; 0 = no response
	At            time.Time
}

// FailedDeliveries lists the deliveries since a time for which no attempt succeeded, newest
// first, one per GUID. Deliveries that compat rejected (400, 401, 413) are left out, because a
// new attempt would be rejected too. GitHub keeps deliveries for three days (seven on Enterprise
// Server) and does not redeliver by itself.
func (a *App) FailedDeliveries(ctx context.Context, since time.Time) ([]Delivery, error) {
	var order []Delivery
	settled := map[string]bool{} // GUIDs that were delivered or rejected
	seen := map[string]bool{}
	o := &gh.ListCursorOptions{PerPage: perPage}
	for page := 0; page < 10*mostPages; page++ {
		some, resp, err := a.client.Apps.ListHookDeliveries(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("github: list webhook deliveries: %w", err)
		}
		old := false
		for _, d := range some { // newest first
			guid, code := d.GetGUID(), d.GetStatusCode()
			if d.GetDeliveredAt().Before(since) {
				old = true
				continue
			}
			if code >= 200 && code < 300 || code == http.StatusBadRequest ||
				code == http.StatusUnauthorized ||
				code == http.StatusRequestEntityTooLarge {
				settled[guid] = true
			}
			if !seen[guid] {
				seen[guid] = true
				order = append(
					order,
					Delivery{
						ID:           d.GetID(),
						GUID:         guid,
						Event:        d.GetEvent(),
						Action:       d.GetAction(),
						Installation: d.GetInstallationID(),
						Code:         code,
						At:           d.GetDeliveredAt().Time,
					},
				)
			}
		}
		if old || resp.Cursor == "" || resp.Cursor == o.Cursor {
			break
		}
		o.Cursor = resp.Cursor
	}
	var out []Delivery
	for _, d := range order {
		if !settled[d.GUID] {
			out = append(out, d)
		}
	}
	return out, nil
}

// Redeliver asks GitHub to repeat a delivery, with the same GUID.
func (a *App) Redeliver(ctx context.Context, id int64) error {
	_, _, err := a.client.Apps.RedeliverHookDelivery(ctx, id)
	if accepted := (*gh.AcceptedError)(nil); err != nil &&
		!errors.As(err, &accepted) { // go-github returns this error for 202, which is success
		return fmt.Errorf("github: redeliver %d: %w", id, err)
	}
	return nil
}
