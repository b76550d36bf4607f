package lockfile

import (
	"fmt"
	"strings"

	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// comment matches what pip treats as a comment: a # at the beginning of a line or after a space.
var comment = lazyregexp.New(`(^|\s)#.*$`)

// requirements reads a requirements or constraints file (pip, "Requirements File Format") or an
// explicit conda environment. Index options are ignored.
func (r *reader) requirements(text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return fmt.Errorf("line %d: it has a NUL byte", strings.Count(text[:i], "\n")+1)
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	var local, conda []string
	explicit := false // the lines after @EXPLICIT are URLs of conda packages
	unhashed := false // a requirement has no --hash
	n := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " \x00"), "\n") {
		n++
		at := n
		n += strings.Count(line, "\x00")
		hashLine := at + strings.Count(line[:max(strings.Index(line, " --hash"), 0)], "\x00")
		line = strings.ReplaceAll(line, "\x00", "")
		if strings.Contains(line, "#") {
			line = comment.ReplaceAllString(line, "")
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line == "@EXPLICIT" {
			explicit = true
			continue
		}
		if explicit {
			conda = append(conda, condaName(line))
			continue
		}
		if line[0] == '-' {
			if err := r.option(line, at, &local); err != nil {
				return err
			}
			if index, ok := indexOption(line); ok {
				index.Line = at
				r.lock.Indexes = append(r.lock.Indexes, index)
			}
			continue
		}
		line, options, _ := strings.Cut(line, " --")
		hashes := hashesIn(options)
		unhashed = unhashed || hashes == nil
		line = strings.TrimSpace(line)
		if len(line) > maxRequirement {
			return fmt.Errorf("line %d: it is longer than %d bytes", at, maxRequirement)
		}
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "/") ||
			strings.Contains(line, "://") &&
				!strings.Contains(line, "@") {
			local = append(local, line)
			continue
		}
		if len(r.lock.Pins)+len(r.lock.Open) >= maxPins {
			return fmt.Errorf("line %d: it pins more than %d packages", at, maxPins)
		}
		p := Pin{Line: at, Hashes: hashes, HashLine: hashLine}
		if err := r.requirement(line, p, &local); err != nil {
			return fmt.Errorf("line %d: %w", at, err)
		}
	}
	if len(r.lock.Pins)+len(r.lock.Open)+len(r.lock.Includes) == 0 && len(conda) > 0 {
		return errConda
	}
	// With hashes pip installs nothing that the files do not list ("Hash-checking Mode").
	r.lock.Complete = !unhashed
	r.lock.Graph = r.lock.Complete && r.annotations(text)
	r.note(local, notReleases)
	r.note(conda, notConda)
	return nil
}

// hashOption matches a hash of a requirement after the first "--" (pip, "Hash-checking Mode").
var hashOption = lazyregexp.New(`(?:^|\s--)hash[=\s]\s*([a-z0-9]+:[0-9a-fA-F]+)`)

// hashesIn returns the hashes among the options of a requirement, without the first "--".
func hashesIn(options string) (out []string) {
	if !strings.Contains(options, "hash") {
		return nil
	}
	for _, m := range hashOption.FindAllStringSubmatch(options, -1) {
		out = append(out, m[1])
	}
	return out
}

// indexOption returns the index that an option of the file names.
func indexOption(line string) (i Index, ok bool) {
	name, value, _ := strings.Cut(line, " ")
	if i := strings.IndexByte(name, '='); i >= 0 {
		name, value = name[:i], name[i+1:]
	}
	switch i.Option = name; name {
	case "-i", "--index-url", "--pypi-url", "--extra-index-url":
		i.URL = strings.Trim(value, "\"' \t")
		return i, true
	case "-f", "--find-links", "--no-index":
		return i, true
	}
	return i, false
}

// requirement adds a requirement if its marker applies. p has the place and the hashes.
func (r *reader) requirement(line string, p Pin, local *[]string) error {
	q, err := pkgmeta.ParseRequirement(line)
	if err != nil {
		return err
	}
	ok, err := q.Applies(r.env)
	if err != nil || !ok {
		return err
	}
	if q.URL != "" {
		s, isWheel := wheelPin(line, q)
		if !isWheel {
			*local = append(*local, q.Name)
			return nil
		}
		if _, sum, ok := strings.Cut(q.URL, "#sha256="); ok && p.Hashes == nil {
			p.Hashes = []string{"sha256:" + sum}
		}
		p.Indexes = []string{""}
		if q, err = pkgmeta.ParseRequirement(s); err != nil {
			return err
		}
	}
	r.lock.Hashed = r.lock.Hashed || p.Hashes != nil
	version, pinned := strings.CutPrefix(q.Spec, "==")
	if version = strings.TrimSpace(strings.TrimLeft(version, "=")); pinned &&
		!strings.ContainsAny(version, "*,") {
		if p.Hashes == nil {
			r.lock.Unhashed = append(r.lock.Unhashed, Pin{Requirement: q.Name + q.Spec, Line: p.Line})
		}
		return r.add(q.Name, version, p)
	}
	spec := q.Spec
	if len(q.Extras) > 0 {
		spec = "[" + strings.Join(q.Extras, ",") + "]" + spec
	}
	p.Requirement = q.Name + spec
	if r.lock.Open = append(r.lock.Open, p); p.Hashes == nil {
		r.lock.Unhashed = append(r.lock.Unhashed, p)
	}
	return nil
}

// option reads a line that begins with a dash.
func (r *reader) option(line string, at int, local *[]string) error {
	for name, list := range map[string]*[]Include{
		"-r": &r.lock.Includes, "--requirement": &r.lock.Includes,
		"-c": &r.lock.Constraints, "--constraint": &r.lock.Constraints,
	} {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || len(name) > 2 && rest[0] != ' ' && rest[0] != '=' {
			continue
		}
		file := strings.Trim(strings.TrimLeft(rest, " =\t"), `"'`)
		if strings.Contains(file, "://") {
			return fmt.Errorf("line %d: %s has a URL, which compat does not fetch", at, name)
		}
		*list = append(*list, Include{file, at})
		return nil
	}
	r.lock.Hashed = r.lock.Hashed || line == "--require-hashes"
	for _, name := range []string{"-e", "--editable"} {
		if rest, ok := strings.CutPrefix(line, name); ok {
			*local = append(*local, strings.TrimLeft(rest, " =\t"))
		}
	}
	return nil
}
