package subject

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/worker"
)

// contents are the kinds of what artifacts contain, by the name of the artifact: wheels without
// their version, those of them with native code, and nativeCode.
type contents map[string][]string

// nativeCode is in the contents of an artifact with libraries or programs, in a wheel or not.
const nativeCode = "native code"

// native is the suffix of the kind of a wheel that has native code, which is listed without it too.
const native = "+" + nativeCode

func isNativeWheel(kind string) bool { return strings.HasSuffix(kind, native) }

// contentsOf returns the contents of downloaded artifacts by their report.
func contentsOf(files []artifact.File, r *analyzer.Report) contents {
	out := contents{}
	for _, f := range files {
		kinds := out[f.Item.Name]
		for _, a := range r.Artifacts {
			if a.Path != f.Name && !strings.HasPrefix(a.Path, f.Name+"/") {
				continue
			}
			if a.Wheel != nil {
				for _, kind := range wheelKinds(path.Base(a.Path)) {
					kinds = append(kinds, kind)
					if a.Objects > 0 {
						kinds = append(kinds, kind+native)
					}
				}
			}
			if a.Objects > 0 {
				kinds = append(kinds, nativeCode)
			}
		}
		slices.Sort(kinds)
		out[f.Item.Name] = slices.Compact(kinds)
	}
	return out
}

// all returns the kinds in all artifacts.
func (c contents) all() (kinds []string) {
	for _, some := range c {
		kinds = append(kinds, some...)
	}
	return kinds
}

// wheelKinds returns the name of a wheel without its version and build, once for each of its tags,
// and without the version of the system in them: a wheel may be built on a newer system.
func wheelKinds(file string) (kinds []string) {
	w, err := pkgmeta.ParseWheelName(file)
	if err != nil {
		return nil
	}
	name := strings.ReplaceAll(pkgmeta.Normalize(w.Name), "-", "_")
	for _, t := range w.Tags {
		python := t.Python + "-" + t.ABI
		if t.ABI == "abi3" { // for this and later Pythons
			python = t.ABI
		}
		system := cmp.Or(platform.ParseTag(t.Platform).WithoutVersion(), t.Platform)
		kinds = append(kinds, name+"-"+python+"-"+system)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// projectOf returns the name of the project of a kind of wheel.
func projectOf(kind string) string {
	name, _, _ := strings.Cut(kind, "-")
	return name
}

// lacking returns what a head lacks of what its workflows should upload. base is what artifacts of
// the base contain, and head what those of the head do; nil = not read yet, so only names are
// compared.
func lacking(
	uploads []artifact.Upload,
	found *artifact.Found,
	base, head contents,
) (missing []comment.Missing) {
	all, counterparts := head.all(), artifact.Counterparts(uploads, found.Uploads())
	for _, u := range uploads {
		had := base[u.Name]
		lost := slices.DeleteFunc(slices.Clone(had), func(kind string) bool {
			return slices.Contains(all, kind)
		})
		same, there := counterparts[u]
		switch {
		case !there && (len(had) == 0 || len(lost) > 0):
			missing = append(missing,
				comment.Missing{Name: u.Name, Workflow: u.Workflow, Run: stateOf(u.Workflow, found)})
		case !there, head == nil: // its contents are in other artifacts, or not known yet
		case slices.Contains(had, nativeCode) && !slices.Contains(head[same.Name], nativeCode):
			missing = append(missing,
				comment.Missing{Name: u.Name, Workflow: u.Workflow, Artifact: u.Name})
		case len(lost) > 0 && slices.ContainsFunc(had, isNativeWheel) &&
			!slices.ContainsFunc(head[same.Name], isNativeWheel):
			missing = append(missing,
				comment.Missing{Name: u.Name, Workflow: u.Workflow, Artifact: u.Name, Pure: true})
		case slices.ContainsFunc(had, func(kind string) bool { return sameProject(kind, all) }):
			for _, kind := range lost {
				wheel, pure := strings.CutSuffix(kind, native)
				if pure && slices.Contains(lost, wheel) {
					continue // the whole wheel is missing
				}
				missing = append(missing,
					comment.Missing{Name: wheel, Workflow: u.Workflow, Artifact: u.Name, Pure: pure})
			}
		}
	}
	return missing
}

// sameProject reports whether some of the kinds are wheels of the project of kind. Without any, the
// project has another name now.
func sameProject(kind string, kinds []string) bool {
	return kind != nativeCode && slices.ContainsFunc(kinds, func(other string) bool {
		return other != nativeCode && projectOf(other) == projectOf(kind)
	})
}

// stateOf returns the conclusion or status of the newest run of a workflow; "" = it has not run.
func stateOf(workflow string, found *artifact.Found) (state string) {
	for _, r := range found.Runs { // sorted by ID
		if r.Path == workflow {
			state = cmp.Or(r.Conclusion, r.Status)
		}
	}
	return state
}

// missing returns what the head lacks, by what the configuration and the base branch have, and what
// of it was accepted. base and head are as in lacking. The changes of the subject are only read if
// something is missing.
func (r *round) missing(
	ctx context.Context,
	base, head contents,
) (missing []comment.Missing, accepted []comment.AcceptedMissing, _ error) {
	if r.subject.release || r.subject.compare == nil {
		return nil, nil, nil
	}
	known, err := r.expected(ctx, r.subject.base.Ref, r.set)
	if err != nil {
		return nil, nil, err
	}
	uploads := known.starting(r.subject, nil)
	if len(lacking(uploads, r.found, base, head)) > 0 {
		if err := r.readChanges(ctx); err != nil {
			return nil, nil, err
		}
		if uploads = known.starting(r.subject, r.changed); r.reason != "" {
			uploads = nil
		}
	}
	for _, glob := range r.set.Workflows {
		if len(r.found.Runs) > 0 && !slices.ContainsFunc(r.found.Runs, func(run artifact.Run) bool {
			return artifact.Selects(glob, run)
		}) {
			missing = append(missing, comment.Missing{Name: glob})
		}
	}
	missing = append(missing, lacking(uploads, r.found, base, head)...)
	missing = slices.DeleteFunc(missing, func(m comment.Missing) bool {
		for _, a := range r.accepted {
			if slices.Contains(a.Missing, m.Name) {
				accepted = append(accepted, comment.AcceptedMissing{
					Name: m.Name, Because: a.Because, By: a.By + ", " + a.On, Until: a.Until,
				})
				return true
			}
		}
		return false
	})
	return missing, accepted, nil
}

// lookForMissing waits a while for artifacts that the base branch has and this commit does not: a
// workflow may not have started, or GitHub's list may be late.
func (r *round) lookForMissing(ctx context.Context) (*worker.Outcome, error) {
	missing, _, err := r.missing(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	late := time.Duration(0)
	for _, m := range missing {
		switch {
		case m.Run == "success":
			late = runsLag
		case m.Run == "" && len(r.found.Runs) > 0:
			late = max(late, r.unborn())
		}
	}
	if late <= 0 {
		return nil, nil
	}
	st := r.state
	if st.Gap.IsZero() {
		st.Gap = r.now()
	}
	left := min(late, min(runsLag, r.Config.Wait)-r.now().Sub(st.Gap))
	if left <= 0 {
		return nil, nil
	}
	st.Polls++
	return end(worker.Later(
		min(left, time.Second<<min(st.Polls, 4)),
		fmt.Sprintf("%s may still come", missing[0].Name),
	), r.save(ctx))
}

// unborn returns how long a workflow without a run may still start.
func (r *round) unborn() time.Duration {
	newest := slices.MaxFunc(r.found.Runs, func(a, b artifact.Run) int {
		return a.Created.Compare(b.Created)
	})
	return min(runsLag, runsLag-r.now().Sub(newest.Created))
}

// baseContents returns what the artifacts of the base branch contain, as far as they can be read;
// nil for a release. They are read once for all pull requests. A note in the report says that they
// could not be read.
func (r *round) baseContents(
	ctx context.Context,
	a *analysis,
	j result,
) (known contents, _ error) {
	if r.subject.release || r.subject.compare == nil {
		return nil, nil
	}
	expects, err := r.expected(ctx, r.subject.base.Ref, r.set)
	if err != nil || len(expects.Expected) == 0 {
		return nil, err
	}
	key := fmt.Sprintf("contents/%d/%s/%s", r.repo.ID, expects.ID, r.set.Digest)
	if err := r.Store.Get(ctx, key, &known); err != nil || known != nil {
		return known, err
	}
	known, err = a.pushedContents(ctx, r.set.Repository, j.options)
	if err != nil {
		return nil, err
	}
	if known == nil {
		j.report.AddNote("what the artifacts of " + r.subject.base.Ref + " contain could not be read, " +
			"so a missing artifact was looked for by its name only")
		return nil, nil
	}
	return known, r.Store.Put(ctx, key, known, expectedTTL)
}

func (a *analysis) pushedContents(
	ctx context.Context,
	c *config.Repository,
	o analyzer.Options,
) (contents, error) {
	found, err := a.Fetcher.Pushed(ctx, a.repo.Client, a.repo.Owner, a.repo.Name, a.base,
		c.Artifacts...)
	if err != nil || found.State != artifact.Ready {
		return nil, a.bearable(ctx, err)
	}
	had, err := a.analyzedFindings(ctx, c, found, o, false)
	if err != nil || had == nil {
		return nil, a.bearable(ctx, err)
	}
	return had.Contents, nil
}
