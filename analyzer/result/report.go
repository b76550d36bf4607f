package result

import (
	"slices"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// Schema names the shape of the JSON that Report marshals to.
const Schema = "compat/report/v1"

// Verdict sums up a report or a target.
type Verdict string

const (
	Compatible   Verdict = "compatible"   // nothing at or above the failing severity, nothing unread
	Incompatible Verdict = "incompatible" // a finding of severity error
	Unchecked    Verdict = "unchecked"    // something that should have been checked could not be
	NotJudged    Verdict = "not judged"   // nothing in the artifacts is of a kind that compat checks
)

// Report is what one analysis found. It marshals to the stable JSON of docs/report.schema.json.
type Report struct {
	Schema    string     `json:"schema"`
	Tool      Tool       `json:"tool"`
	Verdict   Verdict    `json:"verdict"`
	Outcome   Outcome    `json:"outcome,omitempty"` // "" until the severity that fails is known
	Causes    []Cause    `json:"causes"`            // errors first
	Plan      Plan       `json:"plan"`
	Targets   []Target   `json:"targets"`
	Artifacts []Artifact `json:"artifacts"`
	Findings  []Finding  `json:"findings"`      // worst first, then by artifact, object, symbol
	ABI       []ABI      `json:"abi,omitempty"` // libraries that were compared with earlier builds
	Unread    []Unread   `json:"unread"`
	Skipped   []Unread   `json:"skipped"`
	// findings that the configuration accepts; they do not count
	Accepted []Accepted `json:"accepted,omitempty"`
	// what could not be looked up and how to make that possible, and which of the given packages do
	// not fit together; one sentence each
	Notes []string `json:"notes,omitempty"`
}

// New returns an empty report whose lists are not nil.
func New(version string) *Report {
	r := &Report{Schema: Schema, Tool: Tool{Version: version}, Verdict: Compatible}
	r.full()
	return r
}

// Tool is the compat that made a report.
type Tool struct {
	Version string `json:"version"`
}

// Target is a platform, with the packages in its environment, that the artifacts were checked on.
type Target struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"verdict"`
	With    []string `json:"with,omitempty"` // the packages of the environment, as NAME==VERSION
}

// Artifact is one input that was checked: a wheel, another archive or a loose file.
type Artifact struct {
	Path    string `json:"path"`   // as given; a member of an archive as "outer.zip/inner.whl"
	SHA256  string `json:"sha256"` // of its bytes, hex
	Kind    string `json:"kind"`   // wheel, archive or object
	Objects int    `json:"objects"`
	Imports int    `json:"imports"` // symbols that its objects import
	Wheel   *Wheel `json:"wheel,omitempty"`
}

// Wheel is what a wheel declares about itself, with the verdicts of other tools on it.
type Wheel struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Tags     []string `json:"tags"` // expanded, python-abi-platform
	Requires []string `json:"requires,omitempty"`
	// Policy is auditwheel's verdict, and ABI3 abi3audit's; null for a wheel without an abi3 tag.
	// What those tools miss is a finding.
	Policy *wheelpolicy.Policy `json:"policy"`
	ABI3   *abi3.Result        `json:"abi3"`
}

// AddUnread lists a file that could not be read, once.
func (r *Report) AddUnread(u Unread) {
	if !slices.Contains(r.Unread, u) {
		r.Unread = append(r.Unread, u)
	}
}

// AddNote adds a note, once.
func (r *Report) AddNote(text string) {
	if !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// MarkExisting clears New on the findings whose identity is among these, the base's, and on the
// causes that have no other findings.
func (r *Report) MarkExisting(identities []string) {
	sorted := slices.Sorted(slices.Values(identities))
	for i := range r.Findings {
		_, had := slices.BinarySearch(sorted, r.Findings[i].Identity())
		r.Findings[i].New = !had
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		c.New = slices.ContainsFunc(c.Findings, func(n int) bool { return r.Findings[n].New })
	}
}

// Identities lists the findings' identities, each once.
func (r *Report) Identities() []string {
	ids := []string{}
	for i := range r.Findings {
		ids = append(ids, r.Findings[i].Identity())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Conclude sets the verdicts of the report and of each target from the findings and unread files.
func (r *Report) Conclude() {
	for i := range r.Targets {
		t := &r.Targets[i]
		t.Verdict = Compatible
		if len(r.Unread) > 0 {
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

// Decide sets the outcome from the verdict and the severity that fails; see Fails.
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

// Fails reports whether a new finding is at or above a severity; "" counts as Error, and nothing
// fails at Off.
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

// Files counts the files in a list, which may name one file for several reasons.
func Files(us []Unread) int {
	paths := map[string]bool{}
	for _, u := range us {
		paths[u.Path] = true
	}
	return len(paths)
}

// Unread is a file that could not be read, or, in Skipped, one that compat does not check.
type Unread = facts.Unread

// Accepted is a finding that the configuration accepts, and why.
type Accepted struct {
	Finding Finding `json:"finding"`
	Because string  `json:"because"`
	Until   string  `json:"until,omitempty"` // YYYY-MM-DD, the last day
	// who accepted it by a command; "" for the configuration file
	By string `json:"by,omitempty"`
}

// Merge adds another report, whose causes come last.
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
	for _, u := range o.Unread {
		r.AddUnread(u)
	}
	r.Skipped = append(r.Skipped, o.Skipped...)
	for _, n := range o.Notes {
		r.AddNote(n)
	}
	if o.Verdict == Incompatible || r.Verdict == NotJudged ||
		r.Verdict == Compatible && o.Verdict == Unchecked {
		r.Verdict = o.Verdict
	}
}
