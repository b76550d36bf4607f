package subject

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/sandbox"
)

// hadTTL is how long the findings of a base are cached. Artifacts do not change, but the package
// index does.
const hadTTL = 6 * time.Hour

// comparison finds the artifacts of the base that correspond to those of the head.
type comparison func(
	ctx context.Context,
	c *config.Repository,
	like *artifact.Found,
) (*artifact.Found, error)

// analyzedBefore is the cached result of analyzing the artifacts of a base.
type analyzedBefore struct {
	Had      []string // identities of the findings
	Wheels   []analyzer.WheelFile
	Contents contents
	Unread   []analyzer.Unread
}

// noteUnread adds a note if findings count as new because the base could not be checked completely.
func (b *analyzedBefore) noteUnread(r *analyzer.Report, base string) {
	isNew := func(f analyzer.Finding) bool { return f.New }
	if len(b.Unread) == 0 || !slices.ContainsFunc(r.Findings, isNew) {
		return
	}
	u, more := b.Unread[0], ""
	if n := analyzer.Files(b.Unread) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s)", analyzer.Count(n, "more file"))
	}
	r.AddNote(fmt.Sprintf("findings of %s may count as new, because it could not be checked "+
		"completely: %s: %s%s", base, u.Path, u.Reason, more))
}

// baseFindings returns what was found in the base; nil if there is no base to compare with.
// Artifacts are analyzed once for all pull requests with that base. Only temporary errors
// (a rate limit, a lost lease) are returned: without a base every finding is new. If the head has
// no findings, only the wheels of the base matter, and its artifacts are not downloaded for that.
func (a *analysis) baseFindings(
	ctx context.Context,
	c *config.Repository,
	like *artifact.Found,
	o analyzer.Options,
	compare comparison,
	onlyWheels bool,
) (*analyzedBefore, error) {
	found, err := compare(ctx, c, like)
	if err == nil && found.State != artifact.Ready {
		a.attempt.Log.Debug("nothing to compare with", "reason", found.Reason)
		return nil, nil
	}
	var had *analyzedBefore
	if err == nil {
		had, err = a.analyzedFindings(ctx, c, found, o, onlyWheels)
	}
	if err != nil {
		return nil, a.bearable(ctx, err)
	}
	return had, nil
}

// bearable returns nil for errors that only mean that there is no base to compare with.
func (a *analysis) bearable(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if limit := (*sandbox.Failure)(nil); errors.As(err, &limit) && limit.Limit {
		a.attempt.Log.Warn("the analysis of the base exceeds a limit; every finding counts as new",
			"error", err)
		return nil
	}
	if kind := github.Classify(err).Kind; ctx.Err() != nil || kind == github.After ||
		kind == github.Retry && !a.attempt.Last {
		return err
	}
	a.attempt.Log.Warn("the base can't be analyzed; every finding counts as new", "error", err)
	return nil
}

// linkedAgainst reports whether the artifacts contain libraries that other programs may link
// against, so that the exports of the base matter. Wheels are only loaded.
func linkedAgainst(r *analyzer.Report) bool {
	return slices.ContainsFunc(
		r.Artifacts,
		func(a analyzer.Artifact) bool { return a.Kind != "wheel" && a.Objects > 0 },
	)
}

// baseInputs downloads the base's artifacts, to be analyzed together with the head's; none if
// there is no base.
func (a *analysis) baseInputs(
	ctx context.Context,
	c *config.Repository,
	like *artifact.Found,
	compare comparison,
) (inputs []analyzer.Input, done func(), _ error) {
	done = func() {}
	found, err := compare(ctx, c, like)
	if err == nil && found.State != artifact.Ready {
		a.attempt.Log.Debug("nothing to compare with", "reason", found.Reason)
		return nil, done, nil
	}
	var set *artifact.Set
	if err == nil {
		set, err = a.download(ctx, found)
	}
	if err != nil {
		return nil, done, a.bearable(ctx, err)
	}
	inputs, closeFiles, err := open(set)
	if err != nil {
		set.Close()
		return nil, done, err
	}
	return inputs, func() { closeFiles(); set.Close() }, nil
}

// analyzedFindings returns what was found in artifacts, from the cache if possible. With
// onlyWheels, artifacts that are not in the cache are not analyzed: the result has the assets of a
// release, and is nil for a workflow run, whose wheels are in archives.
func (a *analysis) analyzedFindings(
	ctx context.Context,
	c *config.Repository,
	found *artifact.Found,
	o analyzer.Options,
	onlyWheels bool,
) (*analyzedBefore, error) {
	// findings of the base count also if they are accepted or silenced
	o.Rules, o.Accept, o.NoFixes = nil, nil, true
	inputs, err := json.Marshal(
		[]any{
			found.Key,
			o.Platforms,
			o.Also,
			o.With,
			o.First,
			o.Link,
			o.NoIndex,
			o.Version,
			a.ruleIDs(),
		},
	)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	sum := sha256.Sum256(inputs)
	key := fmt.Sprintf("had/%d/%s", a.repo.ID, hex.EncodeToString(sum[:]))
	var kept *analyzedBefore
	if err := a.Store.Get(ctx, key, &kept); err != nil || kept != nil {
		return kept, err
	}
	if onlyWheels {
		return assets(found), nil
	}
	// The base's artifacts may require any package, but the pins may be those of the head.
	ref := cmp.Or(a.base, a.repo.DefaultBranch)
	o.Source, err = a.source(ctx, a.repo, ref, c, append([]string{}, o.With...))
	if err != nil {
		return nil, err
	}
	set, err := a.download(ctx, found)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	files, closeFiles, err := open(set)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	defer closeFiles()
	r, _, err := a.check(ctx, files, o, nil)
	if err != nil {
		return nil, err
	}
	if err := a.require(ctx, a.repo.ID, r); err != nil {
		return nil, err
	}
	had := &analyzedBefore{r.Identities(), analyzer.Wheels(r), contentsOf(set.Files, r), r.Unread}
	if data, err := json.Marshal(had); err == nil &&
		len(set.Problems) == 0 {
		// too large, or the store fails: it will be analyzed again
		if err := a.Store.Queue.Put(ctx, key, data, hadTTL); err != nil {
			a.attempt.Log.Warn("what the base has could not be kept", "error", err)
		}
	}
	return had, nil
}

// assets returns the names of a release's assets; nil for artifacts of workflow runs.
func assets(found *artifact.Found) *analyzedBefore {
	var out *analyzedBefore
	for _, i := range found.Items {
		if i.Asset {
			if out == nil {
				out = &analyzedBefore{}
			}
			out.Wheels = append(out.Wheels, analyzer.WheelFile{Name: i.Name})
		}
	}
	return out
}
