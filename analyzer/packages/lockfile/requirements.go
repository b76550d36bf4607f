package lockfile

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// requirementsLine is a line of a requirements file that is not empty. It is one of a requirement,
// an option, and the URL of a conda package.
type requirementsLine struct {
	line, hashLine      int
	option              bool
	requirement         pkgmeta.Requirement // Name "" = it is none
	hashes              []string
	indexes             []string // of a wheel with a URL; see Pin.Indexes
	local               string   // what it names that is not a release of an index
	include, constraint string   // paths as written
	index               *Index
	requireHashes       bool
	conda               string
}

// readRequirements reads a requirements or constraints file (pip, "Requirements File Format") or an
// explicit conda environment.
func readRequirements(data []byte) (*Lock, error) {
	text := string(data)
	lines, err := requirementsLines(text)
	if err != nil {
		return nil, err
	}
	l := &Lock{Names: requirementsNames(lines), CompiledFor: compiled(text), complete: true}
	for _, line := range lines {
		if version, exact := line.requirement.Pin(); exact {
			l.Versions = append(l.Versions, line.requirement.Name+"=="+version.String())
		}
		// With hashes pip installs nothing that the files do not list ("Hash-checking Mode").
		l.complete = l.complete && (line.hashes != nil || line.option || line.conda != "")
	}
	l.choose = func(c *chooser) error {
		if err := c.requirements(lines); err != nil {
			return err
		}
		c.Graph = c.Complete && c.annotations(text)
		return nil
	}
	return l, nil
}

// comment matches what pip treats as a comment: a # at the beginning of a line or after a space.
var comment = lazyregexp.New(`(^|\s)#.*$`)

// requirementsLines parses a requirements file. Lines that are continued count as one.
func requirementsLines(text string) (out []*requirementsLine, err error) {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, inLine(strings.Count(text[:i], "\n")+1, errors.New("it has a NUL byte"))
	}
	text = strings.NewReplacer("\r\n", "\n", "\t", " ").Replace(strings.TrimPrefix(text, "\ufeff"))
	explicit := false // the lines after @EXPLICIT are URLs of conda packages
	requirements, n := 0, 0
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " \x00"), "\n") {
		n++
		l := &requirementsLine{line: n}
		n += strings.Count(line, "\x00")
		l.hashLine = l.line + strings.Count(line[:max(strings.Index(line, " --hash"), 0)], "\x00")
		line = strings.ReplaceAll(line, "\x00", "")
		if strings.Contains(line, "#") {
			line = comment.ReplaceAllString(line, "")
		}
		switch line = strings.TrimSpace(line); {
		case line == "":
			continue
		case line == "@EXPLICIT":
			explicit = true
			continue
		case explicit:
			l.conda = condaName(line)
		case line[0] == '-':
			err = l.readOption(line)
		default:
			if requirements++; requirements > maxPins {
				err = fmt.Errorf("it pins more than %d packages", maxPins)
				break
			}
			err = l.readRequirement(line)
		}
		if err != nil {
			return nil, inLine(l.line, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// requirementsNames returns the normalized names of the packages that lines require.
func requirementsNames(lines []*requirementsLine) (out []string) {
	for _, l := range lines {
		if l.requirement.Name != "" {
			out = append(out, l.requirement.Name)
		}
	}
	return out
}

// hashOption matches a hash of a requirement after the first "--" (pip, "Hash-checking Mode").
var hashOption = lazyregexp.New(`(?:^|\s--)hash[=\s]\s*([a-z0-9]+:[0-9a-fA-F]+)`)

func (l *requirementsLine) readRequirement(line string) error {
	line, options, _ := strings.Cut(line, " --")
	if strings.Contains(options, "hash") {
		for _, m := range hashOption.FindAllStringSubmatch(options, -1) {
			l.hashes = append(l.hashes, m[1])
		}
	}
	line = strings.TrimSpace(line)
	if len(line) > maxRequirement {
		return fmt.Errorf("it is longer than %d bytes", maxRequirement)
	}
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "/") ||
		strings.Contains(line, "://") && !strings.Contains(line, "@") {
		l.local = line
		return nil
	}
	q, err := pkgmeta.ParseRequirement(line)
	if err != nil {
		return err
	}
	l.requirement = q
	if q.URL == "" {
		return nil
	}
	version, isWheel := wheelVersion(q)
	if !isWheel {
		l.local = q.Name
		return nil
	}
	if _, sum, ok := strings.Cut(q.URL, "#sha256="); ok && l.hashes == nil {
		l.hashes = []string{"sha256:" + sum}
	}
	l.indexes = []string{""}
	l.requirement, err = pkgmeta.ParseRequirement(q.Name + "==" + version)
	l.requirement.Marker = q.Marker
	return err
}

// wheelVersion returns the version of a requirement that is the URL of a wheel, such as "torch @
// https://host/torch-2.7.0%2Bcu128-cp312-cp312-linux_x86_64.whl".
func wheelVersion(q pkgmeta.Requirement) (version string, ok bool) {
	u, err := url.Parse(q.URL)
	if err != nil {
		return "", false
	}
	w, err := pkgmeta.ParseWheelName(path.Base(u.Path))
	if err != nil || pkgmeta.Normalize(w.Name) != q.Name {
		return "", false
	}
	version = strings.ReplaceAll(w.Version, "_", "-")
	_, err = pin(q.Name, version)
	return version, err == nil
}

// readOption reads a line that begins with a dash. Options that change no pin are ignored.
func (l *requirementsLine) readOption(line string) error {
	l.option = true
	name, value, _ := strings.Cut(line, " ")
	if i := strings.IndexByte(name, '='); i >= 0 {
		name, value = name[:i], name[i+1:]
	}
	value = strings.Trim(value, " ")
	if len(name) > 2 && name[1] != '-' { // pip also reads -rFILE
		name, value = name[:2], strings.TrimSpace(name[2:]+" "+value)
	}
	switch name {
	case "-r", "--requirement", "-c", "--constraint":
		file := strings.Trim(value, `"'`)
		switch {
		case strings.Contains(file, "://"):
			return fmt.Errorf("%s has a URL, which compat does not fetch", name)
		case name == "-r" || name == "--requirement":
			l.include = file
		default:
			l.constraint = file
		}
	case "-e", "--editable":
		l.local = value
	case "-i", "--index-url", "--pypi-url", "--extra-index-url":
		l.index = &Index{URL: strings.Trim(value, `"'`), Option: name, Line: l.line}
	case "-f", "--find-links", "--no-index":
		l.index = &Index{Option: name, Line: l.line}
	case "--require-hashes":
		l.requireHashes = true
	}
	return nil
}

// requirements chooses the requirements whose markers apply.
func (c *chooser) requirements(lines []*requirementsLine) error {
	var local, conda []string
	for _, l := range lines {
		switch {
		case l.conda != "":
			conda = append(conda, l.conda)
		case l.include != "":
			c.Includes = append(c.Includes, Include{l.include, l.line})
		case l.constraint != "":
			c.Constraints = append(c.Constraints, Include{l.constraint, l.line})
		case l.index != nil:
			c.Indexes = append(c.Indexes, *l.index)
		}
		c.Hashed = c.Hashed || l.requireHashes
		ok, err := c.satisfies(l.requirement)
		switch {
		case err != nil:
			return inLine(l.line, err)
		case !ok:
		case l.local != "":
			local = append(local, l.local)
		case l.requirement.Name != "":
			if err := c.require(l); err != nil {
				return err
			}
		}
	}
	if len(c.Pins)+len(c.Open)+len(c.Includes) == 0 && conda != nil {
		return errConda
	}
	c.note(local, notReleases)
	c.note(conda, notConda)
	return nil
}

// require adds a requirement that applies.
func (c *chooser) require(l *requirementsLine) error {
	q := l.requirement
	p := Pin{
		Line: l.line, Marker: q.Marker, Hashes: l.hashes, HashLine: l.hashLine, Indexes: l.indexes,
	}
	c.Hashed = c.Hashed || p.Hashes != nil
	version, pinned := strings.CutPrefix(q.Spec, "==")
	if version = strings.TrimSpace(strings.TrimLeft(version, "=")); pinned &&
		!strings.ContainsAny(version, "*,") {
		if p.Hashes == nil {
			c.Unhashed = append(c.Unhashed, Pin{Requirement: q.Name + q.Spec, Line: p.Line})
		}
		return c.add(q.Name, version, p)
	}
	p.Requirement = q.Name
	if len(q.Extras) > 0 {
		p.Requirement += "[" + strings.Join(q.Extras, ",") + "]"
	}
	p.Requirement += q.Spec
	if c.Open = append(c.Open, p); p.Hashes == nil {
		c.Unhashed = append(c.Unhashed, p)
	}
	return nil
}

// pipCompile writes requirements files.
var pipCompile = tool{
	renew: func(file, _ string) shellword.Line {
		const compile = "pip-compile --generate-hashes --no-reuse-hashes"
		if file == "requirements.txt" { // what it writes by default
			return compile
		}
		stem := strings.TrimSuffix(file, ".txt")
		return compile + " --output-file " + shellword.Quote(file) + " " + shellword.Quote(stem+".in")
	},
}
