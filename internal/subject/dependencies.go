package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/options"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/review"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/worker"
)

const (
	reviewTTL = 24 * time.Hour   // of a review
	unreadTTL = 10 * time.Minute // of a review with failed look-ups
)

// change is the difference between a subject and its base.
type change struct {
	paths []string // paths in the diff, and those that moved files had before
	// whole means that paths has every path. GitHub's lists are limited, so otherwise nothing may be
	// concluded from what paths does not contain.
	whole bool
	base  string // the base commit
	diff  comment.Diff

	from, to *commitFiles // the files of the base commit, and those of the subject
}

// changes compares a subject with its base; nil = it has none, or GitHub has no comparison.
func (c *check) changes(ctx context.Context, s subject) (*change, error) {
	from := s.base.Ref
	if s.number == 0 {
		from = s.base.SHA
	}
	if s.compare == nil || s.release || from == "" {
		return nil, nil
	}
	if c.compared == nil {
		compared, _, err := c.repo.Client.Repositories.CompareCommits(
			ctx, c.repo.Owner, c.repo.Name, from, s.sha, &gh.ListOptions{PerPage: 1})
		if repository.Refused(err) {
			c.attempt.Log.Debug("no comparison with the base", "error", err)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("compare with the base: %w", err)
		}
		c.compared = compared
	}
	out := &change{base: c.compared.GetMergeBaseCommit().GetSHA()}
	out.from = &commitFiles{repo: c.repo, sha: out.base}
	out.to = &commitFiles{repo: c.repo, sha: s.sha}
	files := c.compared.Files
	out.whole = len(files) < maxCompared
	if !out.whole && s.number != 0 {
		var err error
		if files, err = c.listFiles(ctx, s.number); err != nil {
			return nil, err
		}
	}
	var changed []comment.DiffFile
	for _, f := range files {
		out.paths = append(out.paths, f.GetFilename())
		if old := f.GetPreviousFilename(); old != "" {
			out.paths = append(out.paths, old)
		}
		changed = append(changed, comment.DiffFile{Path: f.GetFilename(), Patch: f.GetPatch()})
	}
	out.diff = comment.ParseDiff(changed)
	if out.whole {
		return out, nil
	}
	// What GitHub lists of a pull request has a limit too, and is about the head that is the newest
	// while each page is read, so another push can shorten it. Trees belong to a commit.
	different, err := differences(ctx, out.from, out.to)
	out.paths = append(out.paths, different...)
	out.whole = !out.from.truncated && !out.to.truncated
	if !out.whole { // any file may be changed, so all pins are reviewed
		out.paths = append(out.paths, out.to.paths...)
	}
	return out, err
}

// differences returns the paths that two commits do not have in common, or with other contents.
func differences(ctx context.Context, base, head *commitFiles) (paths []string, _ error) {
	for _, f := range []*commitFiles{base, head} {
		if _, err := f.Files(ctx); err != nil {
			return nil, err
		}
	}
	for p, object := range head.objects {
		if base.objects[p] != object {
			paths = append(paths, p)
		}
	}
	for p := range base.objects {
		if head.objects[p] == "" {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// commitFiles reads the files of a commit.
type commitFiles struct {
	repo  *repository.Repository
	sha   string
	blobs map[string]string // digests of the regular files that may be read
	paths []string          // of these

	objects   map[string]string // digest and mode of everything but folders
	truncated bool              // GitHub's list of the files is limited, and incomplete
}

// Files implements review.Commit.
func (f *commitFiles) Files(ctx context.Context) ([]string, error) {
	if f.blobs != nil {
		return f.paths, nil
	}
	tree, _, err := f.repo.Client.Git.GetTree(ctx, f.repo.Owner, f.repo.Name, f.sha, true)
	if err != nil {
		return nil, fmt.Errorf("list the files of a commit: %w", err)
	}
	f.blobs, f.objects, f.truncated = map[string]string{}, map[string]string{}, tree.GetTruncated()
	for _, e := range tree.Entries {
		if e.GetType() != "tree" {
			f.objects[e.GetPath()] = e.GetMode() + " " + e.GetSHA()
		}
		if e.GetType() == "blob" && e.GetMode() != "120000" && e.GetSize() <= repository.MaxSource {
			f.blobs[e.GetPath()] = e.GetSHA()
			f.paths = append(f.paths, e.GetPath())
		}
	}
	return f.paths, nil
}

// haveSubmodule reports whether one of the paths is a submodule, which may have any files. The
// files are only listed if a path may be one: what has the extension of a text is taken for a text.
func (f *commitFiles) haveSubmodule(ctx context.Context, paths []string) (bool, error) {
	if !slices.ContainsFunc(paths, func(p string) bool { return !artifact.Text(p) }) {
		return false, nil
	}
	_, err := f.Files(ctx)
	return slices.ContainsFunc(paths, func(p string) bool {
		return strings.HasPrefix(f.objects[p], submodule)
	}), err
}

// submodule is the mode of a submodule in a tree.
const submodule = "160000 "

// Read implements review.Commit.
func (f *commitFiles) Read(ctx context.Context, path string) (string, bool, error) {
	if _, err := f.Files(ctx); err != nil {
		return "", false, err
	}
	blob := f.blobs[path]
	if blob == "" {
		return "", false, nil
	}
	text, err := f.repo.Blob(ctx, blob)
	return text, err == nil, err
}

// reviewed is the review of the pinned packages of a subject.
type reviewed struct {
	*comment.Dependencies
	diff comment.Diff
}

// review reviews the pins that a subject changes; nil = none, or no index is configured.
func (c *check) review(
	ctx context.Context,
	s subject,
	set repository.Configuration,
	changed *change,
	accepted []store.Accepted,
) (*reviewed, error) {
	if c.Reviewer == nil || changed == nil || changed.base == "" || set.Environments.Off {
		return nil, nil
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{
		s.sha, changed.base, set.Digest, acceptDigest(accepted), c.state.ForceID, c.Version,
	}, "\x00")))
	key := fmt.Sprintf("review/%d/%s", c.repo.ID, hex.EncodeToString(sum[:]))
	var kept *keptReview
	if err := c.Store.Get(ctx, key, &kept); err != nil {
		return nil, err
	}
	if kept == nil {
		look, err := c.guard(ctx, c.repo, s.base.Ref, set.Repository, nil)
		if err != nil {
			return nil, err
		}
		o := analyzer.Options{
			Source: look, Version: c.Version, Today: c.Store.Today(), Scratch: c.Scratch,
		}
		options.Apply(set.Repository, config.Path, &o)
		for _, some := range accepted {
			o.Accept = append(o.Accept, some.Options()...)
		}
		d, err := c.Reviewer.Review(ctx, review.Change{
			Index:   look,
			Base:    changed.from,
			Head:    changed.to,
			Paths:   changed.paths,
			Config:  set.Repository,
			Options: o,
		})
		if err != nil {
			return nil, err
		}
		kept = &keptReview{d}
		ttl := reviewTTL
		if d != nil && len(d.Unread) > 0 {
			ttl = unreadTTL
		}
		if data, err := json.Marshal(kept); err == nil {
			if err := c.Store.Queue.Put(ctx, key, data, ttl); err != nil {
				// too large, or the store fails
				c.attempt.Log.Warn("a review could not be kept", "error", err)
			}
		}
	}
	if kept.Dependencies == nil {
		return nil, nil
	}
	return &reviewed{kept.Dependencies, changed.diff}, nil
}

// keptReview is the cached form of a review; nil Dependencies = no environment is changed.
type keptReview struct{ *comment.Dependencies }

// rendered renders the review as a check.
func (r *reviewed) rendered(s subject, set repository.Configuration, page string) comment.Check {
	check := comment.RenderDependencies(comment.Input{
		FailOn: set.FailOn, BaseName: s.base.Ref, DetailsURL: page, SHA: s.sha,
		Converse: s.number != 0, Diff: r.diff,
	}, r.Dependencies)
	set.Speaks(&check)
	return check
}

// withoutReason returns the reason why a subject needs no artifacts; "" = it needs artifacts.
func (c *check) withoutReason(
	ctx context.Context,
	s subject,
	set repository.Configuration,
	changed *change,
	r *reviewed,
) (string, error) {
	if changed == nil || !changed.whole || len(changed.paths) == 0 {
		return "", nil
	}
	if r == nil && artifact.Documentation(changed.paths, set.Documentation) {
		if code, err := changed.to.haveSubmodule(ctx, changed.paths); err != nil || code {
			return "", err
		}
		return "Every file of the change is documentation.", nil
	}
	known, err := c.expected(ctx, s.base.Ref, set)
	if err != nil {
		return "", err
	}
	if len(known.Expected) > 0 {
		if r == nil && known.filtered(s, changed) {
			return "The paths filters of the workflows that upload artifacts exclude every changed file.",
				nil
		}
		return "", nil
	}
	if known.Other || len(set.Artifacts) > 0 || len(set.Workflows) > 0 || c.Reviewer == nil {
		return "", nil
	}
	files, err := changed.from.Files(ctx)
	if err != nil || !slices.ContainsFunc(files, lockfile.Known) {
		return "", err
	}
	return "No workflow run of the base branch has artifacts, and no lock or requirements file is " +
		"changed.", nil
}

// withoutArtifacts concludes a subject that needs no artifacts, with the review of the pins or
// with the reason why the artifacts cannot change.
func (c *check) withoutArtifacts(
	ctx context.Context,
	s subject,
	set repository.Configuration,
	r *reviewed,
	reason string,
) (worker.Outcome, error) {
	st := c.state
	var digest string
	if r != nil {
		data, err := json.Marshal(r.Dependencies)
		if err != nil {
			return worker.Done, err
		}
		sum := sha256.Sum256(data)
		digest = hex.EncodeToString(sum[:12])
	}
	ext := c.external(s.sha, "without", reason, digest, set.Digest)
	by, err := c.stricter(ctx, s.sha, c.own)
	if err != nil {
		return worker.Done, err
	}
	if ext+overruled(by) == st.Concluded && !st.Pending {
		return worker.Done, nil
	}
	run, err := c.start(ctx, s, checkingTitle, checkingSummary)
	if err != nil {
		return worker.Done, err
	}
	if !st.Pending {
		st.Pending = true
		st.Turn++
		ext = c.external(s.sha, "without", reason, digest, set.Digest)
	}
	v := verdict{run: run, ext: ext, checked: r != nil}
	if r == nil {
		v.check = comment.Render(comment.Input{Problem: comment.NothingChanged(reason), SHA: s.sha})
		set.Speaks(&v.check)
		v.report = analyzer.NewReport(c.Version)
		v.report.Verdict, v.report.Notes = analyzer.NotJudged, []string{reason}
	} else {
		v.report = r.Report
	}
	if st.Intent != ext || st.Report == "" {
		st.Intent, st.Report = ext, store.NewReportID()
		if err := c.save(ctx); err != nil {
			return worker.Done, err
		}
	}
	v.report.Outcome = analyzer.OutcomePass
	if r != nil {
		v.check = r.rendered(s, set, "")
		if store.Blocks(v.check.Conclusion) {
			v.report.Outcome = analyzer.OutcomeFail
		}
	}
	if v.page, err = c.keep(ctx, s, v.report, 0); err != nil {
		return worker.Done, err
	}
	if r != nil {
		v.check = r.rendered(s, set, v.page)
	}
	notices, err := c.notices(ctx, set)
	if err != nil {
		return worker.Done, err
	}
	v.check = comment.WithImpact(v.check, notices)
	if s.current != nil {
		if ok, err := s.current(ctx, !store.Blocks(v.check.Conclusion)); err != nil || !ok {
			return worker.Later(time.Second, "the head or the base has changed"), err
		}
	}
	c.attempt.Log.Info("checked", "conclusion", v.check.Conclusion, "title", v.check.Title)
	return worker.Done, c.conclude(ctx, s, v)
}

// show shows the review in the check run while it waits for artifacts.
func (c *check) show(ctx context.Context, s subject, r *reviewed,
	set repository.Configuration) error {
	check := r.rendered(s, set, "")
	sum := sha256.Sum256([]byte(s.sha + check.Title + check.Summary))
	digest := hex.EncodeToString(sum[:12])
	if c.state.Shown == digest {
		return nil
	}
	ext := c.state.Intent
	if ext == "" || ext == c.state.Concluded {
		ext = job.External(c.attempt.Job.Key, s.sha, "")
	}
	summary := waitingSummary + "\n## Pinned packages: " + check.Summary
	if _, err := c.repo.Poster.Start(ctx, s.sha, ext, "", check.Title, summary, false); err != nil {
		return err
	}
	c.state.Shown = digest
	return c.save(ctx)
}
