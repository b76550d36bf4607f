package command

import (
	"context"

	"github.com/compat-app/compat/comment"
)

// fix replies with the fixes of the last report, and with the patch that was made with it. Nothing
// is written to the repository, so everybody may ask.
func (r *request) fix(ctx context.Context, _ string) (reaction, error) {
	last, err := r.Store.LastReport(ctx, r.key())
	if err != nil {
		return reaction{}, err
	}
	reply := comment.Fixes(last.Report, last.SHA, last.Patch, r.Store.PageURL(last.ID))
	if last.Report == nil {
		return reaction{emoji: confused, reply: reply}, nil
	}
	return reaction{emoji: thumbsUp, reply: reply}, nil
}
