package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/compat-app/compat/internal/repository"
)

// converse writes the review and the summary comment of a pull request. A conversation that is
// locked or gone is no failure: the check run has everything.
func (c *check) converse(ctx context.Context, s subject, v verdict) error {
	st, writes := c.state, len(v.check.Review) > 0 || v.check.Create && v.check.Sticky != ""
	if st.Silent && !writes || v.check.Sticky == "" && v.report == nil {
		return nil
	}
	digest := v.conversation()
	if digest == st.Talk { // by an earlier head
		return nil
	}
	talk := c.repo.Poster.Conversation(s.number, st.Silent)
	if st.Silent { // a crash after the first text must not be followed by the same text
		st.Silent = false
		if err := c.save(ctx); err != nil {
			return err
		}
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"review", func() error { return talk.Review(ctx, s.sha, v.check.Review) }},
		{"resolve threads", func() error {
			var keep []string
			for _, c := range v.check.Review {
				keep = append(keep, c.Fingerprint)
			}
			return talk.Resolve(ctx, keep)
		}},
		{"comment", func() error { return talk.Sticky(ctx, v.check.Sticky, v.check.Create) }},
	}
	if v.report == nil {
		steps = steps[2:] // a problem resolves no threads
	}
	for _, step := range steps {
		err := step.do()
		if repository.Refused(err) {
			c.attempt.Log.Warn("the conversation is locked or gone", "step", step.what, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	st.Silent, st.Talk = talk.Silent() && !writes, digest
	return nil
}

// conversation is a digest of what a verdict writes in a conversation.
func (v verdict) conversation() string {
	parts := []string{
		v.check.Sticky,
		strconv.FormatBool(v.check.Create),
		strconv.FormatBool(v.report == nil),
	}
	for _, c := range v.check.Review {
		parts = append(parts, c.Fingerprint)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:12])
}
