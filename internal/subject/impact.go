package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/sandbox"
	"github.com/compat-app/compat/internal/store"
)

// Limits of what one check does for other repositories.
const (
	maxDependents = 1000             // wheels
	impactTime    = 60 * time.Second // of reading the build and checking them
)

// dependent is a repository that may use what is built.
type dependent struct {
	store.Uses
	wheels []impact.Uses // those that may use it
}

// impacts returns what the artifacts of the subject do to other repositories of the installation,
// and what releases of others do to this one; nil = nothing is known. For a release it also stores
// what it breaks, for the next reviews of those repositories.
func (r *round) impacts(
	ctx context.Context,
	a *analysis,
	report *analyzer.Report,
) (*comment.Impact, error) {
	out, err := r.notices(ctx, r.set)
	if err != nil {
		return nil, err
	}
	users, err := r.dependents(ctx, report)
	if err != nil || len(users) == 0 {
		return out, err
	}
	answers, unchecked, err := r.judgeBuild(ctx, a, users)
	if err != nil {
		return nil, err
	}
	if r.subject.release && !r.subject.draft {
		if err := r.notify(ctx, users, answers); err != nil {
			return nil, err
		}
	}
	all, err := r.listed(ctx, r.attempt.Job.Installation)
	if err != nil {
		return nil, err
	}
	out.Unchecked = unchecked
	own := r.set.Impact.Repositories
	for n, u := range users {
		is, there := all[u.Repository]
		if !there || !sees(all[r.repo.ID], is, own, u.With) {
			continue
		}
		rows := rows(&u, answers[n], report, unchecked)
		for i := range rows {
			rows[i].Repository, rows[i].URL = is.FullName(), is.URL
			rows[i].Accepted = r.acceptedImpact(&rows[i])
		}
		out.Rows = append(out.Rows, rows...)
	}
	order := []impact.Verdict{
		impact.Breaks, impact.Undecided, impact.Works, impact.Excluded, "",
	}
	slices.SortStableFunc(out.Rows, func(a, b comment.ImpactRow) int {
		return cmp.Or(slices.Index(order, a.Verdict)-slices.Index(order, b.Verdict),
			strings.Compare(a.Repository, b.Repository))
	})
	return out, nil
}

// built returns the normalized names of the wheels in a report.
func built(report *analyzer.Report) (names []string) {
	for _, a := range report.Artifacts {
		if a.Wheel == nil {
			continue
		}
		if name := pkgmeta.Normalize(a.Wheel.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// dependents returns the other repositories of the installation that pin or require a package of
// the report, or may use one of its libraries.
func (r *round) dependents(
	ctx context.Context,
	report *analyzer.Report,
) (out []dependent, _ error) {
	if !slices.ContainsFunc(report.Artifacts, func(a analyzer.Artifact) bool {
		return a.Objects > 0
	}) {
		return nil, nil
	}
	installation := r.attempt.Job.Installation
	ids, err := r.Store.Using(ctx, installation)
	if err != nil {
		return nil, err
	}
	names := built(report)
	for _, id := range ids {
		if id == r.repo.ID {
			continue
		}
		uses, err := r.Store.Uses(ctx, installation, id)
		if err != nil {
			return nil, err
		}
		d := dependent{Uses: uses}
		for _, w := range uses.Wheels {
			if !slices.Contains(names, w.Name) && mayUse(&w, names) {
				d.wheels = append(d.wheels, w)
			}
		}
		pins := slices.ContainsFunc(names, func(name string) bool {
			files, _ := uses.Pinned(name)
			return len(files) > 0
		})
		if pins || len(d.wheels) > 0 {
			out = append(out, d)
		}
	}
	return out, nil
}

// mayUse reports whether a wheel requires one of the packages, has a copy of a library, or needs
// one that no system has. Which libraries a build has is known when it is judged.
func mayUse(w *impact.Uses, names []string) bool {
	return len(w.Bundled) > 0 ||
		slices.ContainsFunc(w.Requires, func(n string) bool { return slices.Contains(names, n) }) ||
		slices.ContainsFunc(w.Libraries, func(l string) bool {
			_, ofSystem := platform.ProviderOf(l)
			return !ofSystem
		})
}

// judgeBuild judges the wheels of dependents with the artifacts of the subject. The answers are in
// the order of the dependents. unchecked is why there are none; "" = there are.
func (r *round) judgeBuild(
	ctx context.Context,
	a *analysis,
	users []dependent,
) (answers [][]impact.Answer, unchecked string, _ error) {
	answers = make([][]impact.Answer, len(users))
	b := &impact.Build{Options: analyzer.Options{
		NoIndex: true, Version: r.Version, Scratch: r.Scratch,
	}}
	dir, err := os.MkdirTemp(r.Config.Data, sandbox.Folder+"*")
	if err != nil {
		return nil, "", fmt.Errorf("write what others use: %w", err)
	}
	defer os.RemoveAll(dir)
	var of []int // the dependent of each wheel
	for n, u := range users {
		for _, w := range u.wheels {
			if len(of) == maxDependents {
				unchecked = fmt.Sprintf("only %d of them are checked", maxDependents)
				break
			}
			in, err := r.stored(ctx, dir, len(of), u.Repository, &w)
			if err != nil {
				return nil, "", err
			}
			if in == nil {
				continue
			}
			defer in.Content.(*os.File).Close()
			b.Dependents, of = append(b.Dependents, *in), append(of, n)
		}
	}
	if len(of) == 0 {
		return answers, unchecked, nil
	}
	head, err := a.download(ctx, r.found)
	if err != nil {
		return nil, "", err
	}
	defer head.Close()
	inputs, closeHead, err := open(head)
	if err != nil {
		return nil, "", err
	}
	defer closeHead()
	b.New = inputs
	if r.subject.compare != nil {
		base, closeBase, err := a.baseInputs(ctx, r.set.Repository, r.found, r.subject.compare)
		defer closeBase()
		if err != nil {
			return nil, "", err
		}
		b.Old = base
	}
	release, err := r.slot(ctx)
	if err != nil {
		return nil, "", err
	}
	defer release()
	limited, cancel := context.WithTimeout(ctx, impactTime)
	defer cancel()
	all, err := r.Impacts.JudgeBuild(limited, b)
	var failure *sandbox.Failure
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case limited.Err() != nil:
		return answers, fmt.Sprintf("that takes longer than %s", impactTime), nil
	case errors.As(err, &failure):
		a.attempt.Log.Warn("the wheels of other repositories could not be checked",
			"reason", failure.Reason, "detail", failure.Detail)
		return answers, failure.Reason, nil
	case err != nil:
		return answers, "the artifacts could not be read", nil
	}
	for _, x := range all {
		answers[of[x.Dependent]] = append(answers[of[x.Dependent]], x)
	}
	return answers, unchecked, nil
}

// stored opens what is stored of a wheel, as a file in dir; nil = it is not stored any more.
func (r *round) stored(
	ctx context.Context, dir string, number int, repository int64, w *impact.Uses,
) (*analyzer.Input, error) {
	facts, err := r.Store.Facts(ctx, r.attempt.Job.Installation, repository, w.SHA256)
	if err != nil || facts == nil {
		return nil, err
	}
	file, err := os.Create(path.Join(dir, fmt.Sprint(number)))
	if err == nil {
		_, err = file.Write(facts)
	}
	if err != nil {
		return nil, fmt.Errorf("write what others use: %w", err)
	}
	return &analyzer.Input{
		Name: w.Wheel, Content: file, Size: int64(len(facts)), SHA256: w.SHA256, Stored: true,
	}, nil
}

// rows returns what the section says of a repository: a row for each of its wheels that uses a
// package of the build, or one with its pins. unchecked is why there are no answers for some
// wheels; "" = what is stored of these is gone.
func rows(
	u *dependent, answers []impact.Answer, report *analyzer.Report, unchecked string,
) (out []comment.ImpactRow) {
	names := built(report)
	pinned := map[string][]comment.ImpactPin{}
	for _, name := range names {
		files, versions := u.Pinned(name)
		for i, file := range files {
			pinned[name] = append(pinned[name], comment.ImpactPin{File: file, Version: versions[i]})
		}
	}
	answered := map[string]bool{}
	for _, a := range answers {
		answered[a.Wheel] = true
		row := comment.ImpactRow{
			Package: strings.TrimSpace(a.New.Name + " " + a.New.Version),
			Wheel:   a.Name + " " + a.Version, Verdict: a.Verdict, Reason: a.Reason,
			Pins: pinned[pkgmeta.Normalize(a.New.Name)],
		}
		for _, f := range a.Fixes {
			if f.Who == "dependent" {
				row.Advice = f.What
			}
		}
		out = append(out, row)
		delete(pinned, pkgmeta.Normalize(a.New.Name))
	}
	for _, w := range u.wheels {
		at := slices.IndexFunc(names, func(name string) bool {
			return slices.Contains(w.Requires, name)
		})
		if answered[w.Wheel] || at < 0 {
			continue
		}
		out = append(out, comment.ImpactRow{
			Package: names[at], Wheel: w.Name + " " + w.Version, Verdict: impact.Undecided,
			Reason: cmp.Or(unchecked, "what is stored of it is gone"), Pins: pinned[names[at]],
		})
		delete(pinned, names[at])
	}
	for _, name := range names {
		if pins := pinned[name]; len(pins) > 0 {
			out = append(out, comment.ImpactRow{Package: name, Pins: pins})
		}
	}
	return out
}

// acceptedImpact returns the acceptance of a repository that breaks; nil = there is none.
func (r *round) acceptedImpact(row *comment.ImpactRow) *comment.AcceptedMissing {
	if row.Verdict != impact.Breaks {
		return nil
	}
	for _, a := range r.accepted {
		if slices.Contains(a.Missing, row.Repository) {
			return &comment.AcceptedMissing{
				Name: row.Repository, Because: a.Because, By: a.By + ", " + a.On, Until: a.Until,
			}
		}
	}
	name, _, _ := strings.Cut(row.Wheel, " ")
	for _, a := range r.set.Accept {
		if a.Package != "" && pkgmeta.Normalize(a.Package) == pkgmeta.Normalize(name) &&
			a.Rule+a.Symbol+a.Library+a.Object == "" && (a.Until == "" || r.Store.Today() <= a.Until) {
			return &comment.AcceptedMissing{
				Name: row.Repository, Because: a.Because, By: config.Path, Until: a.Until,
			}
		}
	}
	return nil
}

// notify stores what a release breaks in other repositories, and removes what the release before it
// did.
func (r *round) notify(ctx context.Context, users []dependent, answers [][]impact.Answer) error {
	installation := r.attempt.Job.Installation
	for n, u := range users {
		byPackage := map[string][]store.Notice{}
		for _, a := range answers[n] {
			name := pkgmeta.Normalize(a.New.Name)
			at := slices.IndexFunc(u.wheels, func(w impact.Uses) bool { return w.Wheel == a.Wheel })
			if byPackage[name] == nil {
				byPackage[name] = []store.Notice{} // removes those of the release before
			}
			if a.Verdict != impact.Breaks || at < 0 {
				continue
			}
			byPackage[name] = append(byPackage[name], store.Notice{
				Package: name, Version: a.New.Version, Wheel: u.wheels[at].SHA256,
				Text:       fmt.Sprintf("%s %s: %s", a.New.Name, a.New.Version, a.Reason),
				Repository: r.repo.ID, Tag: r.subject.tag,
			})
		}
		for name, notices := range byPackage {
			err := r.Store.PutNotices(ctx, installation, u.Repository, name, notices...)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// notices returns the releases of other repositories with which the wheels of the default branch of
// this one do not work, as far as the readers of this repository may see them.
func (c *check) notices(
	ctx context.Context, set repository.Configuration,
) (*comment.Impact, error) {
	installation := c.attempt.Job.Installation
	out := &comment.Impact{FailOn: set.Impact.FailOn}
	all, err := c.Store.Notices(ctx, installation, c.repo.ID)
	if err != nil || len(all) == 0 {
		return out, err
	}
	own, err := c.Store.Uses(ctx, installation, c.repo.ID)
	if err != nil {
		return nil, err
	}
	repos, err := c.listed(ctx, installation)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		from, there := repos[n.Repository]
		other, err := c.Store.Uses(ctx, installation, n.Repository)
		if err != nil {
			return nil, err
		}
		if !there || !sees(repos[c.repo.ID], from, set.Impact.Repositories, other.With) ||
			!slices.ContainsFunc(own.Wheels, func(w impact.Uses) bool { return w.SHA256 == n.Wheel }) {
			continue
		}
		notice := comment.ImpactNotice{Repository: from.FullName(), Text: n.Text}
		if from.URL != "" {
			notice.URL = from.URL + "/releases/tag/" + url.PathEscape(n.Tag)
		}
		files, versions := own.Pinned(n.Package)
		for i, file := range files {
			notice.Pins = append(notice.Pins, comment.ImpactPin{File: file, Version: versions[i]})
		}
		out.Notices = append(out.Notices, notice)
	}
	return out, nil
}
