package post

import (
	"context"
	"slices"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/internal/mdsafe"
)

// An analysis has one external ID, and the newest completed check run is the one that GitHub shows.
// So a verdict is posted again only if a run with another external ID has replaced it. Updates
// append annotations, so a run with annotations of one analysis is not used for another.

const (
	statusCompleted  = "completed"
	statusInProgress = "in_progress"
	duplicate        = "duplicate" // external ID of a run that was created twice and closed
)

// runs lists the App's check runs on a commit, newest first.
func (p *Poster) runs(ctx context.Context, sha string) ([]*gh.CheckRun, error) {
	opts := &gh.ListCheckRunsOptions{
		CheckName:   gh.String(checkName),
		Filter:      gh.String("all"),
		AppID:       gh.Int64(p.AppID),
		ListOptions: gh.ListOptions{PerPage: 100},
	}
	var out []*gh.CheckRun
	for {
		var page *gh.ListCheckRunsResults
		var resp *gh.Response
		err := p.read("list check runs of "+sha, func() (err error) {
			page, resp, err = p.Client.Checks.ListCheckRunsForRef(ctx, p.Owner, p.Repo, sha, opts)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, r := range page.CheckRuns {
			if r.GetName() == checkName && (r.App == nil || r.GetApp().GetID() == p.AppID) {
				out = append(out, r)
			}
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	slices.SortFunc(
		out,
		func(a, b *gh.CheckRun) int { return int(min(max(b.GetID()-a.GetID(), -1), 1)) },
	)
	return out, nil
}

// Run is what the caller knows of a check run. The zero value means nothing.
type Run struct {
	ID int64
	// the run is open and without annotations, and the App has no other open run on the commit,
	// so GitHub need not be queried
	Alone bool
}

// Start returns an open run on the commit, which it creates if there is none. If GitHub shows the
// verdict of externalID already, it returns that run and writes nothing. fresh means that the
// App has no open run on the commit, so it creates one without a query.
func (p *Poster) Start(
	ctx context.Context,
	sha, externalID, detailsURL, title, summary string,
	fresh bool,
) (Run, error) {
	out := &gh.CheckRunOutput{
		Title:   gh.String(mdsafe.Cut(title, comment.MaxTitle)),
		Summary: gh.String(summary),
	}
	if !fresh {
		runs, err := p.runs(ctx, sha)
		if err != nil {
			return Run{}, err
		}
		if r := concluded(runs, externalID); r != nil {
			return Run{ID: r.GetID()}, nil
		}
		for _, r := range runs {
			if r.GetStatus() == statusCompleted || stale(r, externalID) {
				continue
			}
			id := r.GetID()
			if r.GetExternalID() == externalID && r.GetStatus() == statusInProgress &&
				r.GetOutput().GetTitle() == title &&
				r.GetOutput().GetSummary() == summary {
				return Run{ID: id}, nil
			}
			return Run{
					ID: id,
				}, p.update(
					ctx,
					id,
					gh.UpdateCheckRunOptions{
						Name:       checkName,
						Status:     gh.String(statusInProgress),
						ExternalID: gh.String(externalID),
						DetailsURL: optional(detailsURL),
						Output:     out,
					},
					func(now *gh.CheckRun) bool {
						return now.GetExternalID() == externalID &&
							now.GetOutput().GetTitle() == title
					},
				)
		}
	}
	id, clean, err := p.create(
		ctx,
		gh.CreateCheckRunOptions{
			Name:       checkName,
			HeadSHA:    sha,
			Status:     gh.String(statusInProgress),
			ExternalID: gh.String(externalID),
			DetailsURL: optional(detailsURL),
			Output:     out,
		},
	)
	return Run{ID: id, Alone: clean && fresh}, err
}

// Conclude posts a Check on the commit, once: if GitHub shows a completed run with this externalID
// already, it returns that run and changes nothing. run is the result of Start, or zero. Other open
// runs of the App on the commit are closed.
func (p *Poster) Conclude(
	ctx context.Context,
	sha string,
	run Run,
	externalID, detailsURL string,
	c comment.Check,
) (int64, error) {
	if run.Alone {
		return run.ID, p.finish(ctx, run.ID, 0, externalID, detailsURL, c)
	}
	runs, err := p.runs(ctx, sha)
	if err != nil {
		return 0, err
	}
	if r := concluded(runs, externalID); r != nil {
		return r.GetID(), p.closeOthers(ctx, runs, r.GetID(), twice)
	}
	from := 0 // number of annotations that the run has
	target := pick(runs, run.ID, externalID)
	if target != nil && target.GetOutput().GetAnnotationsCount() > 0 {
		if from, err = p.resume(ctx, target, externalID, c); err != nil {
			return 0, err
		}
		if from < 0 { // annotations of another analysis, which cannot be removed
			target, from = nil, 0
		}
	}
	if err := p.closeOthers(ctx, runs, target.GetID(), twice); err != nil {
		return 0, err
	}
	id := target.GetID()
	if id == 0 && len(c.Annotations) <= annotationsPerCall {
		id, _, err = p.create(
			ctx,
			gh.CreateCheckRunOptions{
				Name:       checkName,
				HeadSHA:    sha,
				Status:     gh.String(statusCompleted),
				Conclusion: gh.String(c.Conclusion),
				ExternalID: gh.String(externalID),
				DetailsURL: optional(detailsURL),
				Output:     output(c, c.Annotations),
				Actions:    actions(c),
			},
		)
		return id, err
	}
	if id == 0 {
		if id, _, err = p.create(ctx, gh.CreateCheckRunOptions{Name: checkName, HeadSHA: sha,
			Status: gh.String(statusInProgress), ExternalID: gh.String(externalID),
			DetailsURL: optional(detailsURL), Output: output(c, nil)}); err != nil {
			return 0, err
		}
	}
	return id, p.finish(ctx, id, from, externalID, detailsURL, c)
}

// finish posts a Check to an open run that already has the first from of its annotations.
func (p *Poster) finish(
	ctx context.Context,
	id int64,
	from int,
	externalID, detailsURL string,
	c comment.Check,
) error {
	batches := slices.Collect(
		slices.Chunk(c.Annotations[min(from, len(c.Annotations)):], annotationsPerCall),
	)
	if len(batches) == 0 {
		batches = [][]comment.Annotation{nil}
	}
	for i, batch := range batches {
		from += len(batch)
		o := gh.UpdateCheckRunOptions{
			Name:       checkName,
			Status:     gh.String(statusInProgress),
			ExternalID: gh.String(externalID),
			DetailsURL: optional(detailsURL),
			Output:     output(c, batch),
		}
		took := func(now *gh.CheckRun) bool { return now.GetOutput().GetAnnotationsCount() >= from }
		if i == len(batches)-1 {
			o.Status = gh.String(statusCompleted)
			o.Conclusion = gh.String(c.Conclusion)
			o.Actions = actions(c)
			took = func(now *gh.CheckRun) bool { return now.GetStatus() == statusCompleted }
		}
		if err := p.update(ctx, id, o, took); err != nil {
			return err
		}
	}
	return nil
}

// Concluded reports whether a run with this external ID is completed on the commit.
func (p *Poster) Concluded(ctx context.Context, sha, externalID string) (bool, error) {
	runs, err := p.runs(ctx, sha)
	return slices.ContainsFunc(runs, func(r *gh.CheckRun) bool {
		return verdict(r) && r.GetExternalID() == externalID
	}), err
}

// CancelHead closes all open runs of the App on a superseded commit. run is the one that the
// caller knows.
func (p *Poster) CancelHead(ctx context.Context, sha string, run Run) error {
	if run.Alone {
		return p.close(ctx, run.ID, "")
	}
	runs, err := p.runs(ctx, sha)
	if err != nil {
		return err
	}
	return p.closeOthers(ctx, runs, 0, func(r *gh.CheckRun) string { return r.GetExternalID() })
}

func (p *Poster) close(ctx context.Context, id int64, externalID string) error {
	s := comment.Superseded()
	return p.update(
		ctx,
		id,
		gh.UpdateCheckRunOptions{
			Name:       checkName,
			Status:     gh.String(statusCompleted),
			Conclusion: gh.String(s.Conclusion),
			ExternalID: optional(externalID),
			Output: &gh.CheckRunOutput{
				Title:   gh.String(s.Title),
				Summary: gh.String(s.Summary),
			},
		},
		func(now *gh.CheckRun) bool { return now.GetStatus() == statusCompleted },
	)
}

// closeOthers closes the other open runs; name returns their new external IDs.
func (p *Poster) closeOthers(
	ctx context.Context,
	runs []*gh.CheckRun,
	keep int64,
	name func(*gh.CheckRun) string,
) error {
	for _, r := range runs {
		if r.GetStatus() != statusCompleted && r.GetID() != keep {
			if err := p.close(ctx, r.GetID(), name(r)); err != nil {
				return err
			}
		}
	}
	return nil
}

// twice names runs whose creation was answered with an error.
func twice(*gh.CheckRun) string { return duplicate }

// create creates a run. clean is false if GitHub's response was lost, so that there may be two.
func (p *Poster) create(
	ctx context.Context,
	o gh.CreateCheckRunOptions,
) (id int64, clean bool, err error) {
	clean = true
	err = p.write(ctx, "create the check run", func() error {
		r, _, err := p.Client.Checks.CreateCheckRun(ctx, p.Owner, p.Repo, o)
		id = r.GetID()
		return err
	}, func() (bool, error) {
		clean = false
		runs, err := p.runs(ctx, o.HeadSHA)
		for _, r := range runs {
			if r.GetExternalID() == *o.ExternalID &&
				(r.GetStatus() == statusCompleted) == (*o.Status == statusCompleted) {
				id = r.GetID()
				return true, nil
			}
		}
		return false, err
	})
	return id, clean, err
}

func (p *Poster) update(
	ctx context.Context,
	id int64,
	o gh.UpdateCheckRunOptions,
	took func(*gh.CheckRun) bool,
) error {
	return p.write(ctx, "update the check run", func() error {
		_, _, err := p.Client.Checks.UpdateCheckRun(ctx, p.Owner, p.Repo, id, o)
		return err
	}, func() (ok bool, err error) {
		err = p.read("get a check run", func() error {
			r, _, err := p.Client.Checks.GetCheckRun(ctx, p.Owner, p.Repo, id)
			ok = err == nil && took(r)
			return err
		})
		return ok, err
	})
}

// resume returns the number of the Check's annotations that an interrupted call has left on the
// run; -1 if the run has others.
func (p *Poster) resume(
	ctx context.Context,
	r *gh.CheckRun,
	externalID string,
	c comment.Check,
) (int, error) {
	if stale(r, externalID) || r.GetOutput().GetAnnotationsCount() > len(c.Annotations) {
		return -1, nil
	}
	n := 0
	opts := &gh.ListOptions{PerPage: 100}
	for {
		var page []*gh.CheckRunAnnotation
		var resp *gh.Response
		err := p.read("list annotations", func() (err error) {
			page, resp, err = p.Client.Checks.ListCheckRunAnnotations(ctx, p.Owner, p.Repo, r.GetID(), opts)
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, a := range page {
			if n == len(c.Annotations) || a.GetPath() != c.Annotations[n].Path ||
				a.GetStartLine() != c.Annotations[n].StartLine ||
				a.GetTitle() != c.Annotations[n].Title {
				return -1, nil
			}
			n++
		}
		if resp.NextPage == 0 {
			return n, nil
		}
		opts.Page = resp.NextPage
	}
}

// stale reports whether an open run has the annotations of another analysis.
func stale(r *gh.CheckRun, externalID string) bool {
	return r.GetOutput().GetAnnotationsCount() > 0 && r.GetExternalID() != externalID
}

// verdict reports whether a run is completed with a verdict. Canceled runs have none, because a
// head may come back.
func verdict(r *gh.CheckRun) bool {
	return r.GetStatus() == statusCompleted && r.GetConclusion() != "cancelled"
}

// concluded returns the newest run with a verdict if it is that of an analysis, else nil: the head
// of two pull requests may get a verdict, then another, and then the first one again.
func concluded(runs []*gh.CheckRun, externalID string) *gh.CheckRun {
	i := slices.IndexFunc(runs, verdict)
	if i < 0 || runs[i].GetExternalID() != externalID {
		return nil
	}
	return runs[i]
}

// pick selects the open run to conclude: the given one, one of this analysis, or any; nil if
// there is none.
func pick(runs []*gh.CheckRun, id int64, externalID string) *gh.CheckRun {
	var best *gh.CheckRun
	for _, r := range runs {
		switch {
		case r.GetStatus() == statusCompleted:
		case r.GetID() == id && id != 0:
			return r
		case best == nil, best.GetExternalID() != externalID && r.GetExternalID() == externalID:
			best = r
		}
	}
	return best
}

func output(c comment.Check, annotations []comment.Annotation) *gh.CheckRunOutput {
	o := &gh.CheckRunOutput{
		Title:   gh.String(c.Title),
		Summary: gh.String(c.Summary),
		Text:    optional(c.Text),
	}
	for _, a := range annotations {
		o.Annotations = append(
			o.Annotations,
			&gh.CheckRunAnnotation{
				Path:            gh.String(a.Path),
				StartLine:       gh.Int(a.StartLine),
				EndLine:         gh.Int(a.EndLine),
				AnnotationLevel: gh.String(a.Level),
				Title:           optional(a.Title),
				Message:         gh.String(a.Message),
				RawDetails:      optional(a.RawDetails),
			},
		)
	}
	return o
}

func actions(c comment.Check) (out []*gh.CheckRunAction) {
	for _, a := range c.Actions[:min(len(c.Actions), maxActions)] {
		out = append(
			out,
			&gh.CheckRunAction{
				Label:       mdsafe.Cut(a.Label, maxActionLabel),
				Description: mdsafe.Cut(a.Description, maxActionText),
				Identifier:  a.Identifier,
			},
		)
	}
	return out
}

// optional returns nil for "", so that the field is omitted.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
