package elftest

import (
	"errors"
	"fmt"
	"github.com/compat-app/compat/analyzer/elfobj"
	"slices"
	"strconv"
	"strings"
)

// words splits the arguments of one line of the text form.
type words struct{ rest string }

var errNoValue = errors.New("a value is missing")

// term reads a quoted string, or everything up to one of the bytes in stop.
func (l *words) term(stop string) (s string, quoted bool, err error) {
	if l.rest == "" {
		return "", false, errNoValue
	}
	if l.rest[0] == '"' {
		q, err := strconv.QuotedPrefix(l.rest)
		if err != nil {
			return "", false, errors.New("a quoted string does not end or has a wrong escape")
		}
		l.rest = l.rest[len(q):]
		if s, err = strconv.Unquote(q); err == nil && strings.IndexByte(s, 0) >= 0 {
			err = errors.New("a NUL byte, which no ELF string can hold,")
		}
		return s, true, err
	}
	i := strings.IndexAny(l.rest, stop)
	if i < 0 {
		i = len(l.rest)
	}
	s, l.rest = l.rest[:i], l.rest[i:]
	if strings.IndexByte(s, 0) >= 0 {
		return "", false, errors.New("a NUL byte, which no ELF string can hold,")
	}
	return s, false, nil
}

// word reads one word and the space after it.
func (l *words) word() (s string, quoted bool, err error) {
	if s, quoted, err = l.term(" "); err != nil {
		return "", false, err
	}
	if l.rest != "" && l.rest[0] != ' ' {
		return "", false, errors.New("no space after a quoted string")
	}
	l.rest = strings.TrimLeft(l.rest, " ")
	return s, quoted, nil
}

// whole reads the rest of the line as one value.
func (l *words) whole(to *string) (err error) {
	if *to, _, err = l.term(""); err != nil {
		return err
	}
	return l.end()
}

func (l *words) end() error {
	if l.rest != "" {
		return fmt.Errorf("unexpected %.80q", l.rest)
	}
	return nil
}

func (l *words) oneOf(to *string, values ...string) error {
	if !slices.Contains(values, l.rest) {
		return fmt.Errorf("%.80q is not one of %s", l.rest, strings.Join(values, ", "))
	}
	*to = l.rest
	return nil
}

func (l *words) flags(to *uint64, names []elfobj.FlagName) error {
	for _, w := range strings.Fields(l.rest) {
		if i := slices.IndexFunc(names, func(n elfobj.FlagName) bool { return n.Name == w }); i >= 0 {
			*to |= names[i].Bit
			continue
		}
		n, err := strconv.ParseUint(w, 0, 64)
		if err != nil {
			return fmt.Errorf("%q is neither the name of a flag nor a number", w)
		}
		*to |= n
	}
	return nil
}

// symbolWords are the words that import and export lines share.
type symbolWords struct {
	name, at, version    string // at is "", "@" or "@@"
	weak, unique, hidden bool
	kind                 elfobj.Kind
}

func (l *words) symbol() (s symbolWords, err error) {
	s.kind = elfobj.Func
	for {
		w, rest, more := strings.Cut(l.rest, " ")
		if !more || !isModifier(w) {
			break
		}
		switch w {
		case "weak":
			s.weak = true
		case "unique":
			s.unique = true
		case "hidden":
			s.hidden = true
		default:
			s.kind, _ = elfobj.ParseKind(w)
		}
		l.rest = strings.TrimLeft(rest, " ")
	}
	if s.name, _, err = l.term(" @"); err != nil {
		return s, err
	}
	for s.at != "@@" && strings.HasPrefix(l.rest, "@") {
		s.at, l.rest = s.at+"@", l.rest[1:]
	}
	if s.at != "" {
		if s.version, _, err = l.term(" @"); err != nil || s.version == "" {
			return s, errors.New("no version after @")
		}
	}
	if l.rest != "" && l.rest[0] != ' ' {
		return s, errors.New("a symbol should be NAME, NAME@VERSION or NAME@@VERSION;")
	}
	l.rest = strings.TrimLeft(l.rest, " ")
	return s, nil
}

// relocs reads by=KIND,… at the end of a line. It returns zero if there is none.
func (l *words) relocs() (elfobj.Relocs, error) {
	w, ok := strings.CutPrefix(l.rest, "by=")
	if !ok {
		return 0, nil
	}
	l.rest = ""
	return elfobj.ParseRelocs(w)
}
