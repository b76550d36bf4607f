package store

import (
	"context"
	"slices"
	"strings"
	"time"
)

const (
	// replyWindow is the period in which a person without write access gets one reply in a pull
	// request, and all of them together replyShare. Writing a comment costs them nothing, and
	// everybody who watches the pull request is notified of the replies.
	replyWindow = time.Hour
	replyShare  = 10
)

// strangerReply is a reply to a person without write access.
type strangerReply struct {
	Login   string    `json:"login"`
	Request string    `json:"request"`
	At      time.Time `json:"at"`
}

// AllowReply counts a reply to a person without write access in a pull request, and reports
// whether it may be posted. A repeated request gets the same result.
func (s *Store) AllowReply(
	ctx context.Context,
	subject, login, request string,
) (allowed bool, _ error) {
	key := "replies/" + subject
	change := func(replies []strangerReply) ([]strangerReply, bool, error) {
		now := s.Now().UTC()
		replies = slices.DeleteFunc(replies, func(r strangerReply) bool {
			return now.Sub(r.At) >= replyWindow
		})
		allowed = slices.ContainsFunc(replies, func(r strangerReply) bool {
			return r.Request == request
		})
		if allowed {
			return replies, false, nil
		}
		allowed = len(replies) < replyShare &&
			!slices.ContainsFunc(replies, func(r strangerReply) bool {
				return strings.EqualFold(r.Login, login)
			})
		return append(replies, strangerReply{login, request, now}), allowed, nil
	}
	err := update(ctx, s, key, replyWindow, change)
	return allowed, err
}
