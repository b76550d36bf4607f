package impact

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/cause"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/result"
)

// Verdict is what becomes of a dependent.
type Verdict string

// Verdicts, in the order in which the first that applies is taken.
const (
	// Excluded: its metadata do not admit the new release, so pip installs no such pair.
	Excluded Verdict = "excluded"
	// Undecided: it could not be read, or does not load with the old release either.
	Undecided Verdict = "undecided"
	// Breaks: it works with the old release, and not with the new one.
	Breaks Verdict = "breaks"
	Works  Verdict = "works"
)

// Dependent is a package that may use the libraries of the release.
type Dependent struct {
	Name, Version string
	Wheel         string // file name, "" if there is none
	// Requires are the requirements in the metadata that an index has; nil: those in the wheel count.
	Requires []pkgmeta.Requirement
	// Content is its wheel; nil if it has no native code, or if it could not be read.
	Content *analyzer.Input
	Unread  string // why it could not be read; "" if it could
}

// Entry is what becomes of one dependent.
type Entry struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Wheel   string  `json:"wheel"` // file name that pip installs; "" if there is none
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"` // a sentence without a period
	// Symbols that it imports and that are gone or changed, mangled, without versions, sorted; of a
	// changed type those that use it. Not nil.
	Symbols []string `json:"symbols"`
	// Library is the SONAME that is gone, or that had the first of the symbols.
	Library string `json:"library"`
	Object  string `json:"object"` // path of the first file that breaks, in its wheel
	Fixes   []Fix  `json:"fixes"`  // not nil
}

// Fix is something that one of three people can do.
type Fix struct {
	// Who is "release" for the maintainer of the release, "dependent" for that of the dependent, and
	// "user" for those who install both.
	Who  string `json:"who"`
	What string `json:"what"` // an imperative sentence without a period
	// Requirement is the requirement on the package that it sets; "" if it sets none.
	Requirement string `json:"requirement"`
}

// Question is about a release and what its dependents do with it.
type Question struct {
	New      *Release
	Old      *Release // nil if there is none before New
	On       packages.Target
	Platform string // on which all are installed
	// With are requirements of the user on other packages.
	With []string
	// Source has all other packages.
	Source   packages.Source
	Analyzer *analyzer.Analyzer
	Options  analyzer.Options
}

const noCode = "it has no native code for Linux"

// Judge returns what becomes of a dependent. The error is that of ctx.
func (q *Question) Judge(ctx context.Context, d Dependent) (Entry, error) {
	e, err := q.decide(ctx, d)
	if e.Verdict != Undecided || err != nil {
		return e, err
	}
	user := packages.ID{Name: pkgmeta.Normalize(d.Name), Version: d.Version}
	with := packages.ID{Name: q.New.Contents.Name, Version: q.New.Version}
	if k := packages.History().KnownBadPair(user, with); k != nil {
		e.Reason += fmt.Sprintf("; it is known not to work with %s%s: %s", k.With, k.Bad, k.Error)
	}
	return e, nil
}

// decide is Judge without what is known of pairs.
func (q *Question) decide(ctx context.Context, d Dependent) (Entry, error) {
	e := Entry{
		Name: d.Name, Version: d.Version, Wheel: d.Wheel, Verdict: Works, Symbols: []string{},
		Fixes: []Fix{},
	}
	if q.exclude(&e, d.Requires) {
		return e, nil
	}
	if d.Unread != "" {
		e.Verdict, e.Reason = Undecided, d.Unread
		return e, nil
	}
	if d.Content == nil {
		e.Reason = noCode
		return e, nil
	}
	read, err := analyzer.Read(ctx, []analyzer.Input{*d.Content}, q.Options)
	if err != nil {
		e.Verdict, e.Reason = Undecided, "it could not be read: "+err.Error()
		return e, ctx.Err()
	}
	if u := read.Unread(); len(u) > 0 {
		e.Verdict, e.Reason = Undecided, "it could not be read: "+u[0].Reason
		return e, nil
	}
	for _, a := range read.Artifacts() {
		if a.Metadata != nil && q.exclude(&e, a.Metadata.Requires) {
			return e, nil
		}
	}
	c := &comparison{Question: q, dependent: d, read: read}
	if len(c.objects("")) == 0 {
		e.Reason = noCode
		return e, nil
	}
	return e, c.judge(ctx, &e)
}

// exclude makes an entry Excluded if its requirements do not admit the new release.
func (q *Question) exclude(e *Entry, requires []pkgmeta.Requirement) bool {
	bound := q.Excluded(requires)
	if bound == "" {
		return false
	}
	e.Verdict = Excluded
	e.Reason = fmt.Sprintf("it requires %s, so pip does not install it with %s", bound, q.New)
	return true
}

// Excluded returns the first of the requirements of a dependent that does not admit the new
// release; "" if there is none. Pre-releases are admitted, because it may be one.
func (q *Question) Excluded(requires []pkgmeta.Requirement) string {
	v, err := pkgmeta.ParseVersion(q.New.Version)
	if err != nil {
		return ""
	}
	env := q.On.Markers()
	for _, r := range requires {
		applies, err := r.Applies(env)
		if r.Name != q.New.Contents.Name || err != nil || !applies {
			continue
		}
		if spec, err := pkgmeta.ParseSpec(r.Spec); err == nil && !spec.Admits(v) {
			return q.New.Name + " " + spec.String()
		}
	}
	return ""
}

// comparison judges a dependent that was read.
type comparison struct {
	*Question
	dependent Dependent
	read      *analyzer.Reading
}

func (c *comparison) judge(ctx context.Context, e *Entry) error {
	after, unread, err := c.check(ctx, c.New)
	if err != nil {
		return err
	}
	return c.compare(ctx, e, after, unread)
}

// compare compares what the dependent lacks with the new release with what it lacks with the old
// one.
func (c *comparison) compare(ctx context.Context, e *Entry, after lacking, unread string) error {
	var before lacking
	if c.Old != nil && (len(after.own) > 0 || len(c.moved(lacking{}, after)) > 0) {
		var err error
		if before, _, err = c.check(ctx, c.Old); err != nil {
			return err
		}
	}
	broken, unsure := c.broken(before, after)
	worse, moved := c.worse(before, after), c.moved(before, after)
	switch {
	case len(broken) > 0:
		c.breaks(e, broken)
	case len(unsure) > 0:
		e.Verdict, e.Object = Undecided, unsure[0].Object
		e.Reason = fmt.Sprintf("compat could not determine whether it loads with %s: %s", c.Old,
			unsure[0].Message)
	case worse != "":
		e.Verdict, e.Object = Undecided, worse
		e.Reason = fmt.Sprintf("%s loads with %s and not with %s, for another reason: %s", e.Object,
			c.Old, c.New, after.own[e.Object][0].Message)
	case c.loadsNeither(after):
		f := after.first()
		e.Verdict, e.Object = Undecided, c.keeps(f, c.New)
		e.Reason = fmt.Sprintf("it does not load, and not because of %s: %s", c.New, f.Message)
		of := slices.Concat(before.own[e.Object], before.others[e.Object], before.others[f.Library])
		if len(of) > 0 {
			if !has(of, f) {
				f = of[0]
			}
			e.Reason = fmt.Sprintf("it does not load with %s either: %s", c.Old, f.Message)
		}
	case len(moved) > 0:
		e.Verdict, e.Object = Undecided, moved[0].Object
		e.Reason = fmt.Sprintf("compat could not determine whether it loads with %s: %s", c.New,
			moved[0].Message)
	case unread != "":
		e.Verdict, e.Reason = Undecided, unread
	default:
		c.changed(e)
	}
	return nil
}

// lacking is what keeps the objects of a dependent from loading with a release, by the path of the
// object.
type lacking struct {
	own map[string][]analyzer.Finding // because of what they need themselves
	// others are about files of other packages and of the release that the object loads, by the path
	// of the object, and by the file name of what it loads.
	others map[string][]analyzer.Finding
	// unreached are about libraries that something may have loaded before: no search path of the
	// object leads to them.
	unreached map[string][]analyzer.Finding
}

// check checks the dependent with a release. unread is why that is not decided; "" if it is.
func (c *comparison) check(ctx context.Context, r *Release) (_ lacking, unread string, _ error) {
	o := c.Options
	o.Source, o.NoFixes, o.Platforms = r.source(c.Source), true, nil
	o.LibraryPath = r.libraryPath()
	env := &analyzer.Environment{
		Read: c.read, On: c.On, Platform: c.Platform,
		With: slices.Concat([]string{c.dependent.Name + "==" + c.dependent.Version}, c.With),
		Uses: []string{r.Contents.Name}, Newest: true,
	}
	if r.files == nil {
		env.With = append(env.With, r.Contents.Name+"=="+r.Version)
	}
	report, err := c.Analyzer.CheckEnvironment(ctx, env, nil, o)
	if err != nil {
		return lacking{}, "", err
	}
	out := lacking{
		map[string][]analyzer.Finding{}, map[string][]analyzer.Finding{},
		map[string][]analyzer.Finding{},
	}
	for _, f := range report.Findings {
		switch {
		case f.Unreached:
			out.unreached[f.Object] = append(out.unreached[f.Object], f)
		case !c.prevents(f):
		case !f.OtherPackage:
			object := c.keeps(f, r)
			out.own[object] = append(out.own[object], f)
		case len(f.Chain) > 1 && c.certain(f):
			out.others[f.Chain[0]] = append(out.others[f.Chain[0]], f)
			for _, loaded := range f.Chain[1 : len(f.Chain)-1] {
				out.others[path.Base(loaded)] = append(out.others[path.Base(loaded)], f)
			}
		}
	}
	for _, u := range report.Unread {
		unread = u.Path + ": " + u.Reason
	}
	for _, a := range report.Artifacts {
		if a.Accounting == nil {
			continue
		}
		for _, w := range a.Accounting.Why {
			if w.Reason == result.NotRead && r.named(w.Library) {
				unread = fmt.Sprintf("%s of %s", w, r)
			}
		}
	}
	return out, unread, nil
}

// prevents reports whether an object of the dependent does not load because of a finding, or may
// not load: what pins cannot say, such as which libraries a system has, is a warning.
func (c *comparison) prevents(f analyzer.Finding) bool {
	return f.Object != "" && !f.Unknown && (f.Severity == analyzer.Error ||
		f.Severity == analyzer.Warning && analyzer.Lacks(c.Analyzer.Rules(), &f) != cause.LacksNothing)
}

// keeps returns the object that a finding keeps from loading. If it is about a library of a
// release, that is the object of the dependent that loads the library. What is wrong with a third
// package is not why the dependent breaks.
func (c *comparison) keeps(f analyzer.Finding, r *Release) string {
	if len(c.objects(f.Object)) == 0 && r.named(path.Base(f.Object)) && len(f.Chain) > 0 &&
		len(c.objects(f.Chain[0])) > 0 {
		return f.Chain[0]
	}
	return f.Object
}

// certain reports whether an object does not load because of a finding, whatever the release and
// the system: libraries that systems have may be there, unless an installed package has another
// version of the library, and another system may have newer ones.
func (c *comparison) certain(f analyzer.Finding) bool {
	if f.Stops || f.LackedBy != "" {
		return true
	}
	_, ofSystem := platform.ProviderOf(f.Library)
	if p, err := platform.Lookup(c.Platform, c.On.Arch); err == nil && p.Library(f.Library) != nil {
		return false
	}
	return f.Symbol != "" || !ofSystem
}

// fails reports whether an object does not load, whatever the release and the system: because of a
// finding about it, or because the import of its package always fails before.
func (c *comparison) fails(l lacking, object string) bool {
	if slices.ContainsFunc(l.own[object], c.certain) {
		return true
	}
	top, _, _ := strings.Cut(object, "/")
	for other, findings := range l.own {
		if strings.HasPrefix(other, top+"/") && slices.ContainsFunc(findings, stops) {
			return true
		}
	}
	return false
}

func stops(f analyzer.Finding) bool { return f.Stops }

// has reports whether findings contain the same problem.
func has(findings []analyzer.Finding, f analyzer.Finding) bool {
	return slices.ContainsFunc(findings, func(x analyzer.Finding) bool {
		return x.Identity() == f.Identity()
	})
}

// broken returns what keeps objects from loading with the new release that load with the old
// one, and that the release is the reason for. unsure are those with the old release about
// libraries of which it is not decided that something has loaded them.
func (c *comparison) broken(before, after lacking) (out, unsure []analyzer.Finding) {
	for object, findings := range after.own {
		if c.fails(before, object) {
			continue
		}
		for _, f := range findings {
			if !c.blames(f) || before.held(object, f) || has(before.own[object], f) {
				continue
			}
			at := slices.IndexFunc(before.unreached[object], func(b analyzer.Finding) bool {
				return b.Severity == analyzer.Warning && b.Library == f.Library &&
					f.Symbol == "" && f.Version == ""
			})
			if at < 0 {
				out = append(out, f)
			} else {
				unsure = append(unsure, before.unreached[object][at])
			}
		}
	}
	for _, list := range [][]analyzer.Finding{out, unsure} {
		slices.SortFunc(list, func(a, b analyzer.Finding) int {
			return strings.Compare(a.Object+"\x00"+a.Symbol, b.Object+"\x00"+b.Symbol)
		})
	}
	return out, unsure
}

// moved returns the findings with the new release about libraries of the old one to which no search
// path leads any more, and of which it is not decided that something has loaded them.
func (c *comparison) moved(before, after lacking) (out []analyzer.Finding) {
	if c.Old == nil {
		return nil
	}
	for _, object := range slices.Sorted(maps.Keys(after.unreached)) {
		for _, f := range after.unreached[object] {
			same := func(b analyzer.Finding) bool { return b.Library == f.Library }
			if c.Old.named(f.Library) && !c.fails(before, object) && !before.held(object, f) &&
				!slices.ContainsFunc(before.unreached[object], same) &&
				!slices.ContainsFunc(before.own[object], same) {
				out = append(out, f)
			}
		}
	}
	return out
}

// blames reports whether a finding is about what the release had or is.
func (c *comparison) blames(f analyzer.Finding) bool {
	old := c.Old
	if old == nil {
		return f.Package == c.New.Contents.Name || c.New.named(f.Library) || c.New.similar(f.Library)
	}
	return f.Package == c.New.Contents.Name || old.named(f.Library) ||
		f.Symbol != "" && len(old.exported(f.Symbol)) > 0
}

// loadsNot reports whether an object does not load, whatever is installed on the system.
func (c *comparison) loadsNot(l lacking) bool {
	for _, findings := range l.own {
		if slices.ContainsFunc(findings, c.certain) {
			return true
		}
	}
	return false
}

// worse returns the first object that does not load with the new release and does with the old one;
// "" if there is none or no old release.
func (c *comparison) worse(before, after lacking) string {
	if c.Old == nil {
		return ""
	}
	for _, object := range slices.Sorted(maps.Keys(after.own)) {
		if slices.ContainsFunc(after.own[object], func(f analyzer.Finding) bool {
			return c.certain(f) && !before.held(object, f)
		}) && !c.fails(before, object) {
			return object
		}
	}
	return ""
}

// loadsNeither reports whether the dependent does not load, whatever the release: all objects that
// need it, or another version of one of its libraries, lack something; if there are none, all that
// no other object of the dependent loads.
func (c *comparison) loadsNeither(after lacking) bool {
	var users, tops []string
	for _, a := range c.read.Artifacts() {
		needed := map[string]bool{}
		for _, o := range a.Objects {
			for _, n := range o.Needed {
				needed[n] = true
			}
		}
		for _, o := range a.Objects {
			if slices.ContainsFunc(o.Needed, func(n string) bool {
				return c.New.similar(n) || c.Old != nil && c.Old.similar(n)
			}) {
				users = append(users, o.Path)
			}
			if !needed[o.SONAME] && !needed[path.Base(o.Path)] {
				tops = append(tops, o.Path)
			}
		}
	}
	if len(users) == 0 {
		users = tops
	}
	return len(users) > 0 && !slices.ContainsFunc(users, func(object string) bool {
		return !c.fails(after, object)
	})
}

// held reports whether an object does not load because of a file of another package, which it or
// the library of a finding about it loads.
func (l lacking) held(object string, f analyzer.Finding) bool {
	return len(l.others[object]) > 0 || len(l.others[f.Library]) > 0
}

// first returns the finding because of which no module of a package is imported, or that about the
// first object.
func (l lacking) first() analyzer.Finding {
	objects := slices.Sorted(maps.Keys(l.own))
	for _, object := range objects {
		if at := slices.IndexFunc(l.own[object], stops); at >= 0 {
			return l.own[object][at]
		}
	}
	return l.own[objects[0]][0]
}
