package rules

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// abiChange is reported as one finding: the changes of one rule in one library, or one change.
type abiChange struct {
	*analyzer.Compared
	changes  []abi.Change
	severity analyzer.Severity
	against  []string // the earlier builds that it was found against
	users    []string // objects of the run that use a removed symbol
}

// ofUsers is why a change of a library's ABI is a warning; see cause.Rule.Warns.
const ofUsers = "it loads; only programs that were built against the earlier build are affected"

// abiChanges lists the changes of a rule: for a rule about symbols one entry for each library, for
// others one for each change. The same change against several earlier builds is one entry.
func abiChanges(p *analyzer.Pass, rule string) []*abiChange {
	var out []*abiChange
	at := map[string]*abiChange{}
	for _, c := range p.Compared {
		for _, x := range c.Result.Changes {
			severity := abiSeverity(p, c, &x)
			if x.Rule != rule || severity == analyzer.Off {
				continue
			}
			key := c.Path
			if !bySymbol[rule] {
				key += "\x00" + x.Type + "\x00" + x.Symbol
			}
			one := at[key]
			if one == nil {
				one = &abiChange{Compared: c}
				at[key] = one
				out = append(out, one)
			}
			same := func(y abi.Change) bool { return y.Symbol == x.Symbol && y.Type == x.Type }
			if !slices.ContainsFunc(one.changes, same) {
				one.changes = append(one.changes, x)
			}
			if !slices.Contains(one.against, c.Earlier.Name) {
				one.against = append(one.against, c.Earlier.Name)
			}
			if severity.Rank() > one.severity.Rank() {
				one.severity, one.Compared = severity, c
			}
		}
	}
	for _, one := range out {
		one.findUsers()
	}
	return out
}

// bySymbol are the rules whose changes in a library are reported together, because they have one
// fix.
var bySymbol = map[string]bool{
	abi.RuleRemoved: true, abi.RuleVersionRemoved: true, abi.RuleVersionMoved: true,
	abi.RuleData: true, abi.RuleAddedReleased: true, abi.RuleDebian: true,
}

// abiSeverity returns the severity of a change under the policy; Off if it is not reported.
func abiSeverity(p *analyzer.Pass, c *analyzer.Compared, x *abi.Change) analyzer.Severity {
	policy := p.ABI.Policy
	wheel := policy == "" && p.Facts.Kind == analyzer.KindWheel
	if policy == "" {
		policy = "warn"
		if c.Earlier.Release {
			policy = "break-on-patch"
		}
	}
	major, _ := c.Major()
	switch {
	case x.Severity == abi.Note && x.Rule != abi.RuleSoname && x.Rule != abi.RuleAddedReleased &&
		x.Rule != abi.RuleDebian:
		return analyzer.Off
	case x.Rule == abi.RuleDebian:
		return analyzer.Warning
	case x.Severity == abi.Note, wheel, policy == "break-on-patch" && major:
		return analyzer.Note
	case x.Severity == abi.Warning && policy == "warn":
		return analyzer.Note
	case x.Severity == abi.Warning, policy == "warn":
		return analyzer.Warning
	}
	return analyzer.Error
}

// findUsers finds objects of the run that use a removed symbol and will not load.
func (c *abiChange) findUsers() {
	for _, x := range c.changes {
		switch x.Rule {
		case abi.RuleRemoved, abi.RuleVersionRemoved, abi.RuleVersionMoved:
		default:
			continue
		}
		name, _, _ := strings.Cut(x.Symbol, "@")
		for _, u := range c.Users(name) {
			if !slices.Contains(c.users, u) {
				c.users = append(c.users, u)
			}
		}
	}
	if len(c.users) > 0 {
		c.severity = analyzer.Error
	}
}

// usedBy returns the end of a message that lists the objects of the run that use a removed symbol.
func (c *abiChange) usedBy() string {
	const shown = 3
	n := len(c.users)
	if n == 0 {
		return ""
	}
	s := "; " + analyzer.List(c.users, shown, n, "object")
	return s + ", checked in the same run, " + analyzer.Plural(len(c.users), "uses ", "use ") +
		them(len(c.changes))
}

// sameSONAME returns the message for several symbol changes: the first one, and how many others
// there are.
func sameSONAME(c *abiChange) abiMessage {
	one := c.changes[0]
	detail := one.Detail
	if rest, ok := strings.CutPrefix(detail, "The "); ok {
		detail = "the " + rest
	}
	brief := strings.TrimSuffix(strings.TrimSuffix(detail, one.Aside), ".")
	detail = strings.TrimSuffix(detail, ".")
	more := ""
	if n := len(c.changes) - 1; n > 0 {
		more = fmt.Sprintf(", and %s changed too", analyzer.Count(n, "other symbol"))
	}
	return abiMessage{
		ofLibrary(c, brief+more),
		fmt.Sprintf(
			"%s: %s. The SONAME %s is unchanged, so programs that were linked against the old library "+
				"load the new one and fail%s",
			c.Path, detail+more, c.Result.Library, c.usedBy(),
		),
	}
}

// abiMessage is the headline and the message of a finding.
type abiMessage struct{ headline, text string }

// inScript returns the version script node to which removed symbols have to be added again (GNU ld
// manual, VERSION command); "" if they have no version, several versions, or C++ names.
func inScript(changes []abi.Change) shellword.Line {
	var text shellword.Line
	node := ""
	for _, c := range changes {
		name, version, _ := strings.Cut(c.Symbol, "@")
		version = strings.TrimPrefix(version, "@")
		line := shellword.Bare("\n    %s;", name)
		if version == "" || node != "" && node != version || strings.HasPrefix(name, "_Z") ||
			line == "" {
			return ""
		}
		node = version
		text += line
	}
	head := shellword.Bare("%s {", node)
	if head == "" {
		return ""
	}
	return head + "\n  global:" + text + "\n};"
}

// inSymbolsFile returns the header of a library in a symbols file with its new symbols; "" if the
// version of the package is not known.
func inSymbolsFile(c *abiChange) shellword.Line {
	if c.New == "" || c.Earlier.Library == nil {
		return ""
	}
	header := strings.Fields(c.Earlier.Library.Header)
	if len(header) != 3 || header[2] != "#MINVER#" {
		return ""
	}
	text := shellword.Bare("%s %s #MINVER#", header[0], header[1])
	for _, x := range c.changes {
		name, version, _ := strings.Cut(x.Symbol, "@")
		version = cmp.Or(strings.TrimPrefix(version, "@"), "Base")
		line := shellword.Bare("\n %s@%s %s", name, version, c.New)
		if line == "" || text == "" {
			return ""
		}
		text += line
	}
	return text
}

// firstSymbols lists the symbols of changes for a message.
func firstSymbols(changes []abi.Change) string {
	const shown = 10
	var names []string
	for _, c := range changes[:min(len(changes), shown)] {
		name, _, _ := strings.Cut(c.Symbol, "@")
		names = append(names, abi.Readable(name))
	}
	if len(changes) > shown {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// changedLibrary is the subject of causes: all changes of a rule in a library.
func changedLibrary(f *analyzer.Finding) (subject string, shared bool) {
	subject = f.Rule + " " + f.Library
	if f.Source != "" {
		subject += " " + f.Symbol
	}
	return subject, false
}

// changedSymbol is the subject of causes: a change of a type or symbol.
func changedSymbol(f *analyzer.Finding) (subject string, shared bool) {
	return f.Rule + " " + f.Library + " " + f.Symbol, false
}

// ofLibrary returns the headline of a change, which names the library.
func ofLibrary(c *abiChange, what string) string {
	what = strings.ReplaceAll(what, c.Path, path.Base(c.Path))
	if strings.Contains(what, c.Result.Library) {
		return what
	}
	return c.Result.Library + ": " + what
}

// reportABI reports a change with its fix (an empty title for none), and a new SONAME as the
// alternative. text is what the fix adds to a file, after the line that it belongs to; may be "".
func reportABI(
	p *analyzer.Pass, c *abiChange, message abiMessage, repair fix.Title, text shellword.Line,
) {
	x := c.changes[0]
	name, version, _ := strings.Cut(cmp.Or(x.Symbol, x.Type), "@")
	var fixes []fix.Candidate
	if !repair.Equal(fix.Title{}) {
		x := fix.Fix{Kind: fix.KindSource, Title: repair, Command: text}
		fixes = append(fixes, fix.Candidate{Fix: x})
	}
	if next := nextSONAME(c.Result.Library); next != "" && c.Result.NewSONAME == "" &&
		c.severity != analyzer.Note && !keepsSONAME[x.Rule] {
		bump := fix.Fix{
			Kind: fix.KindLinkFlag,
			Title: fix.Titled("Change the SONAME of the library to %s (CMake: the property SOVERSION)",
				next),
			Command: shellword.Quote("-Wl,-soname," + next),
			Cost:    []string{"programs have to be rebuilt to use the new library"},
		}
		fixes = append(fixes, fix.Candidate{Fix: bump})
	}
	// A version with another major number does not help if changes are errors in every version.
	always := p.ABI.Policy == "break-always" || len(c.users) > 0
	if next := c.Next(); next != "" && c.severity == analyzer.Error && !always {
		fixes = append(fixes, fix.Candidate{Fix: fix.Fix{
			Kind: fix.KindSource,
			Title: fix.Titled("Raise the version to %s: under semantic versioning only such a release "+
				"may break programs", next),
		}})
	}
	p.Report(analyzer.Finding{
		Severity: c.severity,
		Object:   c.Path,
		Symbol:   name,
		Version:  strings.TrimPrefix(version, "@"),
		Library:  c.Result.Library,
		Chain:    []string{c.Path},
		Headline: message.headline,
		Message:  message.text,
		Against:  c.against,
		Source:   cmp.Or(x.New, x.Old),
	}, fixes...)
}

// keepsSONAME are the rules for which a new SONAME is not a fix.
var keepsSONAME = map[string]bool{
	abi.RuleLibraryRemoved: true, abi.RuleMode: true, abi.RuleDebian: true,
}

// maxABIFindings limits the reported changes of one rule for an artifact. A library with more was
// rewritten.
const maxABIFindings = 50

// typeChanges returns the check of a rule about types: each changed type is one finding, with the
// exports that use it and the effect on existing programs.
func typeChanges(rule string) func(*analyzer.Pass) {
	return func(p *analyzer.Pass) {
		all := abiChanges(p, rule)
		for _, c := range all[:min(len(all), maxABIFindings)] {
			x := c.changes[0]
			what := strings.TrimSuffix(x.Detail, ".")
			if rest, ok := strings.CutPrefix(what, "Its "); ok {
				what = "class " + x.Type + ": its " + rest
			} else if rest, ok := strings.CutPrefix(what, "Slot "); ok {
				what = "class " + x.Type + ": slot " + rest
			}
			message := c.Path + ": " + what
			if x.Affects > 1 && rule != abi.RuleLibraryRemoved {
				message += fmt.Sprintf(". %d of %d interfaces use it", x.Affects,
					c.Result.Interfaces)
			}
			if len(x.Path) > 1 {
				start := ". The type is used by "
				if x.Affects > 1 {
					start = ", for example "
				}
				message += start + strings.Join(x.Path[:min(len(x.Path), 4)], ", ")
			}
			if x.Effect != "" {
				message += ". " + strings.TrimSuffix(x.Effect, ".")
			}
			repair := fix.Text(strings.TrimSuffix(x.Fix, "."))
			if x.Rule == abi.RuleLibraryRemoved && x.Fix != "" {
				repair = fix.Titled(abi.KeepShipping, fix.Library(c.Result.Library))
			}
			reportABI(p, c, abiMessage{ofLibrary(c, what), message}, repair, "")
		}
	}
}

// nextSONAME returns the SONAME with its version incremented: libfoo.so.3 for libfoo.so.2; "" for
// one without a version.
func nextSONAME(soname string) string {
	name, version, _ := strings.Cut(soname, ".so.")
	major, _, _ := strings.Cut(version, ".")
	n := 0
	if _, err := fmt.Sscanf(major, "%d", &n); err != nil {
		return ""
	}
	return fmt.Sprintf("%s.so.%d", strings.TrimSuffix(name, ".so"), n+1)
}
