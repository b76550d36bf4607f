package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages"
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
	// pinned are releases that its lock files pin and that use it, with the files.
	pinned map[pinnedRelease][]string
}

// answers are what becomes of dependents with a build.
type answers struct {
	wheels [][]impact.Answer                 // of those that a dependent builds, by dependent
	pinned map[pinnedRelease][]impact.Answer // by key
	unread map[pinnedRelease]string          // why a pinned release was not checked
	// unchecked is why there are none of some wheels; "" = what is stored of these is gone.
	unchecked string
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
	found, err := r.judgeBuild(ctx, a, users, report)
	if err != nil {
		return nil, err
	}
	if r.subject.release && !r.subject.draft {
		if err := r.notify(ctx, users, found); err != nil {
			return nil, err
		}
	}
	all, err := r.listed(ctx, r.attempt.Job.Installation)
	if err != nil {
		return nil, err
	}
	out.Unchecked = found.unchecked
	own := r.set.Impact.Repositories
	seen := map[int64]string{} // names of those that every reader may see
	for _, u := range users {
		if is, there := all[u.Repository]; there && sees(all[r.repo.ID], is, own, u.With) {
			seen[u.Repository] = is.FullName()
		}
	}
	for n, u := range users {
		if seen[u.Repository] == "" {
			continue
		}
		is := all[u.Repository]
		rows := found.rows(n, &u, report, seen)
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
// the report, may use one of its libraries, or pin a release that does.
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
	wheels := map[int64][]impact.Uses{}
	pins := newPinners(names)
	// All wheels are known before the pins are looked at, because lock files may pin what another
	// repository builds. What all repositories use is not held in memory.
	for _, look := range []func(u *store.Uses){
		func(u *store.Uses) {
			for _, w := range u.Wheels {
				if !slices.Contains(names, w.Name) && mayUse(&w, names) {
					wheels[u.Repository] = append(wheels[u.Repository], w)
					pins.build(u.Repository, &w)
				}
			}
		},
		func(u *store.Uses) {
			d := dependent{Uses: *u, wheels: wheels[u.Repository], pinned: pins.of(u)}
			d.Pins = u.PinsOf(names)
			if len(d.Pins)+len(d.wheels)+len(d.pinned) > 0 {
				out = append(out, d)
			}
		},
	} {
		for _, id := range ids {
			if id == r.repo.ID {
				continue
			}
			u, err := r.Store.Uses(ctx, installation, id)
			if err != nil {
				return nil, err
			}
			look(&u)
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

// judgeBuild judges the wheels of dependents, and the releases that they pin, with the artifacts of
// the subject.
func (r *round) judgeBuild(
	ctx context.Context,
	a *analysis,
	users []dependent,
	report *analyzer.Report,
) (*answers, error) {
	out := &answers{
		wheels: make([][]impact.Answer, len(users)), pinned: map[pinnedRelease][]impact.Answer{},
	}
	b := &impact.Build{Options: analyzer.Options{
		NoIndex: true, Version: r.Version, Scratch: r.Scratch,
	}}
	dir, err := os.MkdirTemp(r.Config.Data, sandbox.Folder+"*")
	if err != nil {
		return nil, fmt.Errorf("write what others use: %w", err)
	}
	defer os.RemoveAll(dir)
	var keep []func(impact.Answer) // by dependent of the build
	for n, u := range users {
		for _, w := range u.wheels {
			if len(keep) == maxDependents {
				out.unchecked = fmt.Sprintf("only %d of them are checked", maxDependents)
				break
			}
			in, err := r.stored(ctx, dir, len(keep), u.Repository, &w)
			if err != nil {
				return nil, err
			}
			if in == nil {
				continue
			}
			defer in.Content.(*os.File).Close()
			b.Dependents = append(b.Dependents, *in)
			id := packages.ID{Name: pkgmeta.Normalize(w.Name), Version: w.Version}
			pinned := pinnedRelease{id.Key(), u.Repository}
			keep = append(keep, func(a impact.Answer) {
				out.wheels[n] = append(out.wheels[n], a)
				out.pinned[pinned] = append(out.pinned[pinned], a)
			})
		}
	}
	fromIndex, err := r.readPinned(ctx, dir, users, report)
	if err != nil {
		return nil, err
	}
	defer fromIndex.Close()
	out.unread = fromIndex.unread
	for p, in := range fromIndex.wheels {
		b.Dependents = append(b.Dependents, in)
		keep = append(keep, func(a impact.Answer) {
			out.pinned[p.key()] = append(out.pinned[p.key()], a)
		})
	}
	if len(keep) == 0 {
		return out, nil
	}
	head, err := a.download(ctx, r.found)
	if err != nil {
		return nil, err
	}
	defer head.Close()
	inputs, closeHead, err := open(head)
	if err != nil {
		return nil, err
	}
	defer closeHead()
	b.New = inputs
	if r.subject.compare != nil {
		base, closeBase, err := a.baseInputs(ctx, r.set.Repository, r.found, r.subject.compare)
		defer closeBase()
		if err != nil {
			return nil, err
		}
		b.Old = base
	}
	release, err := r.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	limited, cancel := context.WithTimeout(ctx, impactTime)
	defer cancel()
	all, err := r.Impacts.JudgeBuild(limited, b)
	var failure *sandbox.Failure
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		out.unchecked = fmt.Sprintf("that takes longer than %s", impactTime)
	case errors.As(err, &failure):
		a.attempt.Log.Warn("the wheels of other repositories could not be checked",
			"reason", failure.Reason, "detail", failure.Detail)
		out.unchecked = failure.Reason
	case err != nil:
		out.unchecked = "the artifacts could not be read"
	default:
		for _, x := range all {
			keep[x.Dependent](x)
		}
	}
	return out, nil
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

// rows returns what the section says of a dependent, by its number: a row for each of its wheels
// and of the releases that it pins that uses a package of the build, or one with its pins. seen are
// the names of the repositories of which results may be shown.
func (as *answers) rows(
	n int, u *dependent, report *analyzer.Report, seen map[int64]string,
) (out []comment.ImpactRow) {
	names := built(report)
	pinned := map[string][]comment.ImpactPin{}
	for _, name := range names {
		files, versions := u.Pinned(name)
		for i, file := range files {
			pinned[name] = append(pinned[name], comment.ImpactPin{File: file, Version: versions[i]})
		}
	}
	shown := map[string]bool{} // names of which the pins are shown
	add := func(row comment.ImpactRow, name string) {
		row.Pins, shown[name] = pinned[name], true
		out = append(out, row)
	}
	answered := map[string]bool{}
	for _, a := range as.wheels[n] {
		answered[a.Wheel] = true
		add(answerRow(&a, "dependent"), pkgmeta.Normalize(a.New.Name))
	}
	for _, w := range u.wheels {
		at := slices.IndexFunc(names, func(name string) bool {
			return slices.Contains(w.Requires, name)
		})
		if answered[w.Wheel] || at < 0 {
			continue
		}
		add(comment.ImpactRow{
			Package: names[at], Wheel: w.Name + " " + w.Version, Verdict: impact.Undecided,
			Reason: cmp.Or(as.unchecked, "what is stored of it is gone"),
		}, names[at])
	}
	for _, p := range slices.SortedFunc(maps.Keys(u.pinned), pinnedRelease.compare) {
		if p.Builder != 0 && seen[p.Builder] == "" {
			continue
		}
		for _, a := range as.pinned[p.key()] {
			row := answerRow(&a, "user")
			row.Files, row.Builder = u.pinned[p], seen[p.Builder]
			add(row, pkgmeta.Normalize(a.New.Name))
		}
		if why := cmp.Or(as.unread[p], as.unchecked); len(as.pinned[p.key()]) == 0 && why != "" {
			out = append(out, comment.ImpactRow{
				Wheel: p.Name + " " + p.Version, Verdict: impact.Undecided, Reason: why,
				Files: u.pinned[p], Builder: seen[p.Builder],
			})
		}
	}
	for _, name := range names {
		if pins := pinned[name]; len(pins) > 0 && !shown[name] {
			out = append(out, comment.ImpactRow{Package: name, Pins: pins})
		}
	}
	return out
}

// answerRow returns the row of an answer, with the advice for one of those that Fix.Who names.
func answerRow(a *impact.Answer, who string) comment.ImpactRow {
	row := comment.ImpactRow{
		Package: strings.TrimSpace(a.New.Name + " " + a.New.Version),
		Wheel:   a.Name + " " + a.Version, Verdict: a.Verdict, Reason: a.Reason,
	}
	for _, f := range a.Fixes {
		if f.Who == who {
			row.Advice = f.What
		}
	}
	return row
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
func (r *round) notify(ctx context.Context, users []dependent, found *answers) error {
	installation := r.attempt.Job.Installation
	for n, u := range users {
		byPackage := map[string][]store.Notice{}
		add := func(a *impact.Answer, notice store.Notice) {
			name := pkgmeta.Normalize(a.New.Name)
			if byPackage[name] == nil {
				byPackage[name] = []store.Notice{} // removes those of the release before
			}
			if a.Verdict != impact.Breaks {
				return
			}
			notice.Package, notice.Version = name, a.New.Version
			notice.Repository, notice.Tag = r.repo.ID, r.subject.tag
			notice.Text = fmt.Sprintf("%s %s: %s", a.New.Name, a.New.Version, a.Reason)
			if notice.Pin != "" {
				notice.Text = fmt.Sprintf("%s %s: %s %s: %s", a.New.Name, a.New.Version, a.Name, a.Version,
					a.Reason)
			}
			byPackage[name] = append(byPackage[name], notice)
		}
		for _, a := range found.wheels[n] {
			at := slices.IndexFunc(u.wheels, func(w impact.Uses) bool { return w.Wheel == a.Wheel })
			if at >= 0 {
				add(&a, store.Notice{Wheel: u.wheels[at].SHA256})
			}
		}
		for _, p := range slices.SortedFunc(maps.Keys(u.pinned), pinnedRelease.compare) {
			for _, a := range found.pinned[p.key()] {
				add(&a, store.Notice{Pin: p.String(), Builder: p.Builder})
			}
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
// this one, or what its lock files pin, do not work, as far as the readers of this repository may
// see them.
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
	visible := func(id int64) (bool, error) {
		from, there := repos[id]
		other, err := c.Store.Uses(ctx, installation, id)
		return there && sees(repos[c.repo.ID], from, set.Impact.Repositories, other.With), err
	}
	for _, n := range all {
		ok, err := visible(n.Repository)
		if ok && err == nil && n.Builder != 0 {
			ok, err = visible(n.Builder)
		}
		if err != nil {
			return nil, err
		}
		if !ok || !uses(&own, &n) {
			continue
		}
		from := repos[n.Repository]
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

// uses reports whether a repository still has the wheel, or the pin, that a notice is about.
func uses(u *store.Uses, n *store.Notice) bool {
	if n.Pin == "" {
		return slices.ContainsFunc(u.Wheels, func(w impact.Uses) bool { return w.SHA256 == n.Wheel })
	}
	of, _ := packages.Pinned(n.Pin)
	for _, pins := range u.Pins {
		if slices.ContainsFunc(pins, func(pin string) bool {
			id, ok := packages.Pinned(pin)
			return ok && id.Key() == of.Key()
		}) {
			return true
		}
	}
	return false
}
