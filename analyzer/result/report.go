package result

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// Schema is the name of the JSON format of a Report.
const Schema = "compat/report/v1"

// Verdict is the result for a report or a target.
type Verdict string

const (
	// No finding of severity error, and everything was read.
	Compatible   Verdict = "compatible"
	Incompatible Verdict = "incompatible" // a finding of severity error
	Unchecked    Verdict = "unchecked"    // something could not be checked
	NotJudged    Verdict = "not judged"   // the artifacts contain nothing that compat checks
)

// Report is the result of an analysis. Its JSON is described in docs/report.schema.json.
type Report struct {
	Schema    string     `json:"schema"`
	Tool      Tool       `json:"tool"`
	Verdict   Verdict    `json:"verdict"`
	Outcome   Outcome    `json:"outcome,omitempty"` // "" before Decide
	Causes    []Cause    `json:"causes"`            // errors first
	Plan      Plan       `json:"plan"`
	Targets   []Target   `json:"targets"`
	Artifacts []Artifact `json:"artifacts"`
	// Most severe first, then by artifact, object, symbol.
	Findings []Finding `json:"findings"`
	// Comparisons of libraries with earlier builds.
	ABI     []ABI    `json:"abi,omitempty"`
	Unread  []Unread `json:"unread"`
	Skipped []Unread `json:"skipped"`
	// Findings that the configuration accepts; they are ignored otherwise.
	Accepted []Accepted `json:"accepted,omitempty"`
	// Rules that the configuration turns off and that have findings here, which are ignored.
	Off []OffRule `json:"off,omitempty"`
	// Environment is set if the artifacts are packages of an environment: their paths are not those
	// of files, and only versions can be changed.
	Environment bool `json:"-"`
	// Assumed is what is assumed about the environment because no file names it: "Python 3.12".
	Assumed string `json:"-"`
	// What could not be looked up and how to change that, and conflicts between the given packages;
	// one sentence each.
	Notes []string `json:"notes,omitempty"`
	// Notes that say which of the given packages pip refuses to install together.
	Refused []string `json:"refused,omitempty"`
	// Base is the name of what it was compared with; "" = nothing, so all findings are new.
	Base string `json:"base,omitempty"`
	// PullRequest is set if the artifacts were built for a pull request, whose author can still
	// correct the build, and set by who knows that. The analysis does not depend on it.
	PullRequest bool `json:"pull_request,omitempty"`
}

// New returns an empty report whose lists are not nil.
func New(version string) *Report {
	r := &Report{Schema: Schema, Tool: Tool{Version: version}, Verdict: Compatible}
	r.full()
	return r
}

// Tool is the version of compat that created a report.
type Tool struct {
	Version string `json:"version"`
}

// Target is a platform, with the packages in its environment, on which the artifacts were
// checked.
type Target struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"verdict"`
	With    []string `json:"with,omitempty"` // the installed packages as NAME==VERSION
	// What became of the imports of all artifacts that were checked on it; nil if none was.
	Accounting *Accounting `json:"accounting,omitempty"`
	// Only the names of its libraries are known: without an error it is unchecked.
	NamesOnly bool `json:"names_only,omitempty"`
}

// Artifact is a file that was checked: a wheel, another archive or a single file.
type Artifact struct {
	// As given; a member of an archive is "outer.zip/inner.whl".
	Path    string `json:"path"`
	SHA256  string `json:"sha256"` // of its bytes, in hex
	Kind    string `json:"kind"`   // wheel, archive or object
	Root    bool   `json:"-"`      // it is a root file system, such as a container image
	Objects int    `json:"objects"`
	Imports int    `json:"imports"` // number of symbols that its objects import
	// Nil for other artifacts, and for a wheel with the file name of none.
	Wheel *Wheel `json:"wheel,omitempty"`
	// Name of the project in the metadata; "" if there is none.
	Project string `json:"-"`
	// The first 1,000 objects and what they need, sorted by format and path.
	Needs []Needs `json:"needs,omitempty"`
	// Libraries that packages provide, or perhaps provide, on which a deb, rpm, apk or conda package
	// depends. These were not read, so it is not known whether the libraries have the symbols that it
	// imports.
	Assumed []string `json:"assumed,omitempty"`
	// Targets are the names of those on which it was checked; nil if it was on none.
	Targets []string `json:"targets,omitempty"`
	// What became of its imports on the target on which the least is certain; nil if it was not
	// checked.
	Accounting *Accounting `json:"accounting,omitempty"`
}

// Accounting returns what became of the imports of all artifacts.
func (r *Report) Accounting() (all Accounting) {
	for _, a := range r.Artifacts {
		if a.Accounting != nil {
			all.Add(*a.Accounting)
		}
	}
	return all
}

// Misnamed reports whether an artifact is a wheel that pip does not install, because its file name
// is not that of a wheel.
func (a *Artifact) Misnamed() bool {
	_, _, err := pkgmeta.ParseVariantName(path.Base(a.Path))
	return a.Kind == facts.KindWheel && err != nil
}

// PackageOf returns the package of an artifact, or of NAME==VERSION, as NAME VERSION, or the path
// if it is no wheel.
func (r *Report) PackageOf(path string) string {
	for _, a := range r.Artifacts {
		if a.Path == path && a.Wheel != nil {
			return pkgmeta.Normalize(a.Wheel.Name) + " " + a.Wheel.Version
		}
	}
	return strings.Replace(path, "==", " ", 1)
}

// Needs lists the libraries that an object needs.
type Needs struct {
	Object    string   `json:"object"`         // path in the artifact
	Name      string   `json:"name,omitempty"` // SONAME, or install name of macOS; "" if it has none
	Libraries []string `json:"libraries"`      // as the object names them; at most 100
}

// Wheel contains the metadata of a wheel, and the results of other tools for it.
type Wheel struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Tags     []string `json:"tags"` // expanded, python-abi-platform
	Requires []string `json:"requires,omitempty"`
	// RequiresPython is as written in the metadata.
	RequiresPython string `json:"requires_python,omitempty"`
	// Policy is the result of auditwheel's checks, and ABI3 of abi3audit's; null for a wheel
	// without an abi3 tag. What those tools do not detect is a finding.
	Policy *wheelpolicy.Policy `json:"policy"`
	ABI3   *abi3.Result        `json:"abi3"`
	// SBOMs are its software bills of materials (PEP 770), by path.
	SBOMs []SBOM `json:"sboms,omitempty"`
}

// SBOM is a software bill of materials in a wheel.
type SBOM struct {
	Path   string   `json:"path"`             // in the wheel
	Format string   `json:"format,omitempty"` // "CycloneDX 1.6"; "" if it was not read or is another
	Tools  []string `json:"tools,omitempty"`  // that wrote it
	// Number of components; null if it was not read.
	Components *int   `json:"components"`
	Error      string `json:"error,omitempty"` // why it is not valid
	// What it lists about bundled libraries that could be identified.
	Libraries []SBOMLibrary `json:"libraries,omitempty"`
}

// SBOMLibrary is a bundled library, and the component that is about it.
type SBOMLibrary struct {
	Path    string `json:"path"` // in the wheel
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Complete reports whether everything in an artifact, and all that its result depends on, was read.
func (r *Report) Complete(artifact string) bool {
	return !slices.ContainsFunc(r.Unread, func(u Unread) bool {
		return u.Path == artifact || strings.HasPrefix(u.Path, artifact+"/")
	})
}

// AddUnread adds a file that could not be read, unless it is listed already.
func (r *Report) AddUnread(u Unread) {
	if !slices.Contains(r.Unread, u) {
		r.Unread = append(r.Unread, u)
	}
}

// AddNote adds a note, unless it is listed already.
func (r *Report) AddNote(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// OtherNotes returns the notes that are not in Refused, which reports show in their first lines.
func (r *Report) OtherNotes() []string {
	return slices.DeleteFunc(slices.Clone(r.Notes), func(n string) bool {
		return slices.Contains(r.Refused, n)
	})
}

// AddRefused adds a note about packages that pip refuses to install together.
func (r *Report) AddRefused(text string) {
	r.AddNote(text)
	if !slices.Contains(r.Refused, text) {
		r.Refused = append(r.Refused, text)
	}
}

// MarkExisting clears New for the findings with one of these identities, which are those of the
// base, and for the causes without other findings. The artifact of the other causes is the first
// that has a new finding.
func (r *Report) MarkExisting(identities []string) {
	sorted := slices.Sorted(slices.Values(identities))
	for i := range r.Findings {
		_, had := slices.BinarySearch(sorted, r.Findings[i].Identity())
		r.Findings[i].New = !had
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		first := slices.IndexFunc(c.Findings, func(n int) bool { return r.Findings[n].New })
		if c.New = first >= 0; c.New {
			c.Artifact = r.Findings[c.Findings[first]].Artifact
		}
	}
}

// Identities returns the distinct identities of the findings.
func (r *Report) Identities() []string {
	ids := []string{}
	for i := range r.Findings {
		ids = append(ids, r.Findings[i].Identity())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Conclude sets the verdicts of the report and of each target from the findings and the unread
// files.
func (r *Report) Conclude() {
	for i := range r.Targets {
		t := &r.Targets[i]
		t.Verdict = Compatible
		if len(r.Unread) > 0 || t.NamesOnly {
			t.Verdict = Unchecked
		}
	}
	for _, f := range r.Findings {
		for i := range r.Targets {
			if t := &r.Targets[i]; f.Severity == Error && slices.Contains(f.On, t.Name) {
				t.Verdict = Incompatible
			}
		}
	}
	r.Verdict = r.verdict()
	r.full()
}

func (r *Report) verdict() Verdict {
	switch {
	case slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error }):
		return Incompatible
	case len(r.Unread) > 0:
		return Unchecked
	case !slices.ContainsFunc(r.Artifacts, func(a Artifact) bool { return a.Objects > 0 }):
		return NotJudged
	}
	return Compatible
}

// Decide sets the outcome from the verdict and the lowest severity that fails; see Fails.
func (r *Report) Decide(failOn Severity) {
	switch {
	case r.Fails(failOn):
		r.Outcome = Fail
	case r.Verdict == Unchecked || r.Verdict == NotJudged || len(r.Unread) > 0:
		r.Outcome = Failed
	default:
		r.Outcome = Pass
	}
}

// Fails reports whether a new finding has at least a severity. "" means Error; with Off the
// result is false.
func (r *Report) Fails(on Severity) bool {
	if on == "" {
		on = Error
	}
	return on != Off &&
		slices.ContainsFunc(
			r.Findings,
			func(f Finding) bool { return f.New && f.Severity.Rank() >= on.Rank() },
		)
}

// Problems reports whether there is an error or a warning.
func (r *Report) Problems() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Severity.Rank() >= Warning.Rank()
	})
}

// full replaces nil lists, which would be null in JSON.
func (r *Report) full() {
	r.Targets, r.Artifacts = orEmpty(r.Targets), orEmpty(r.Artifacts)
	r.Findings, r.Unread, r.Skipped = orEmpty(r.Findings), orEmpty(r.Unread), orEmpty(r.Skipped)
	r.Causes = orEmpty(r.Causes)
	r.Plan.Fixes, r.Plan.Leaves = orEmpty(r.Plan.Fixes), orEmpty(r.Plan.Leaves)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Chain, f.Fixes = orEmpty(f.Chain), orEmpty(f.Fixes)
	}
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// Files returns the number of distinct files in a list.
func Files(us []Unread) int {
	paths := map[string]bool{}
	for _, u := range us {
		paths[u.Path] = true
	}
	return len(paths)
}

// Unread is a file that could not be read or, in Skipped, that compat does not check.
type Unread = facts.Unread

// Accepted is a finding that the configuration accepts, with the reason.
type Accepted struct {
	Finding Finding `json:"finding"`
	Because string  `json:"because"`
	Until   string  `json:"until,omitempty"` // YYYY-MM-DD, the last day
	// who accepted it by a command; "" for the configuration file
	By string `json:"by,omitempty"`
}

// OffRule is a rule that the configuration turns off.
type OffRule struct {
	Rule     string `json:"rule"`
	Findings int    `json:"findings"` // that are ignored, at least 1
}

// AddOff counts ignored findings of a rule.
func (r *Report) AddOff(rule string, findings int) {
	i := slices.IndexFunc(r.Off, func(o OffRule) bool { return o.Rule == rule })
	if i < 0 {
		i = len(r.Off)
		r.Off = append(r.Off, OffRule{Rule: rule})
	}
	r.Off[i].Findings += findings
}

// Merge adds another report. Its causes are added at the end.
func (r *Report) Merge(o *Report) {
	offset := len(r.Findings)
	for _, c := range o.Causes {
		c.Findings = slices.Clone(c.Findings)
		for i := range c.Findings {
			c.Findings[i] += offset
		}
		r.Causes = append(r.Causes, c)
	}
	r.Findings = append(r.Findings, o.Findings...)
	r.Plan.Verified = (r.Plan.Verified || len(r.Plan.Fixes) == 0) &&
		(o.Plan.Verified || len(o.Plan.Fixes) == 0)
	r.Plan.Fixes = append(r.Plan.Fixes, o.Plan.Fixes...)
	r.Plan.Leaves = append(r.Plan.Leaves, o.Plan.Leaves...)
	r.Targets = append(r.Targets, o.Targets...)
	r.Artifacts = append(r.Artifacts, o.Artifacts...)
	r.Accepted = append(r.Accepted, o.Accepted...)
	for _, x := range o.Off {
		r.AddOff(x.Rule, x.Findings)
	}
	for _, u := range o.Unread {
		r.AddUnread(u)
	}
	r.Skipped = append(r.Skipped, o.Skipped...)
	for _, n := range o.Notes {
		r.AddNote(n)
	}
	for _, n := range o.Refused {
		r.AddRefused(n)
	}
	r.Base = cmp.Or(r.Base, o.Base)
	r.PullRequest = r.PullRequest || o.PullRequest
	if o.Verdict == Incompatible || r.Verdict == NotJudged ||
		r.Verdict == Compatible && o.Verdict == Unchecked {
		r.Verdict = o.Verdict
	}
}
