package worker

import (
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

// hadTTL is how long it is believed what a base has. The same artifacts say the same for ever; what
// a package index says of the packages beside them changes.
const hadTTL = 6 * time.Hour

// had lists the identities of the base's findings; nil where there is no base to compare with. Its
// artifacts are judged once for all pull requests that compare with them. Only a limit, a lost
// lease or the like is an error: without a base everything is new.
func (t *task) had(
	ctx context.Context,
	c *config.Repository,
	like *artifact.Found,
	o analyzer.Options,
	compare func(context.Context, *config.Repository, *artifact.Found) (*artifact.Found, error),
) ([]string, error) {
	found, err := compare(ctx, c, like)
	if err == nil && found.State != artifact.Ready {
		t.Log.Debug("nothing to compare with", "reason", found.Reason)
		return nil, nil
	}
	var had []string
	if err == nil {
		had, err = t.judgedBase(ctx, found, o)
	}
	if err != nil {
		return nil, t.bearable(ctx, err)
	}
	return had, nil
}

// bearable is nil for an error that leaves an analysis without a base.
func (t *task) bearable(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if limit := (*sandbox.Failure)(nil); errors.As(err, &limit) && limit.Limit {
		t.Log.Warn("the base takes too much to be judged; everything counts as new", "error", err)
		return nil
	}
	if kind := github.Classify(err).Kind; ctx.Err() != nil || kind == github.After ||
		kind == github.Retry && !t.lease.Last {
		return err
	}
	t.Log.Warn("the base can't be judged; everything counts as new", "error", err)
	return nil
}

// linkedAgainst says whether something else may be linked against what was judged, so that it
// matters what the base exported. Wheels are loaded.
func linkedAgainst(r *analyzer.Report) bool {
	return slices.ContainsFunc(
		r.Artifacts,
		func(a analyzer.Artifact) bool { return a.Kind != "wheel" && a.Objects > 0 },
	)
}

// baseInputs fetches the base's artifacts, to be judged beside the head's; none where there is no
// base.
func (t *task) baseInputs(
	ctx context.Context,
	c *config.Repository,
	like *artifact.Found,
	compare func(context.Context, *config.Repository, *artifact.Found) (*artifact.Found, error),
) (inputs []analyzer.Input, done func(), _ error) {
	done = func() {}
	found, err := compare(ctx, c, like)
	if err == nil && found.State != artifact.Ready {
		t.Log.Debug("nothing to compare with", "reason", found.Reason)
		return nil, done, nil
	}
	var set *artifact.Set
	if err == nil {
		set, err = t.download(ctx, found)
	}
	if err != nil {
		return nil, done, t.bearable(ctx, err)
	}
	inputs, closeFiles, err := open(set)
	if err != nil {
		set.Close()
		return nil, done, err
	}
	return inputs, func() { closeFiles(); set.Close() }, nil
}

// judgedBase is had for artifacts that are there: what was kept of an earlier look, or what a new
// one says.
func (t *task) judgedBase(
	ctx context.Context,
	found *artifact.Found,
	o analyzer.Options,
) ([]string, error) {
	// what was accepted or silenced was there all the same
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
			t.ruleIDs(),
		},
	)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	sum := sha256.Sum256(inputs)
	key := fmt.Sprintf("had/%d/%s", t.repo.ID, hex.EncodeToString(sum[:]))
	var kept *struct{ Had []string }
	if err := t.recall(ctx, key, &kept); err != nil {
		return nil, err
	}
	if kept != nil {
		return kept.Had, nil
	}
	set, err := t.download(ctx, found)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	files, closeFiles, err := open(set)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	defer closeFiles()
	r, _, err := t.check(ctx, files, o, nil)
	if err != nil {
		return nil, err
	}
	had := r.Identities()
	if data, err := json.Marshal(struct{ Had []string }{had}); err == nil &&
		len(set.Problems) == 0 {
		// too large, or a store that fails: the next one judges it again
		if err := t.Queue.Put(ctx, key, data, hadTTL); err != nil {
			t.Log.Warn("what the base has could not be kept", "error", err)
		}
	}
	return had, nil
}
