package fix

import (
	"fmt"
	"slices"
	"strings"
)

// Title is what a fix does: an imperative, one line. It knows which of its words are the object,
// the library or the requirement that it is about, so that the fixes of several findings can be
// merged without reading it:
//
//	Titled("Link %s with %s", Object("a.so"), Library("libm.so.6"))
//
// JSON has it as text, and a title that was read from JSON has no parts. The zero value is empty.
type Title struct {
	text, format string
	args         []any
}

// Parts of a title. Arguments of other types are plain text.
type (
	Object      string // path of the object that is linked or edited
	Library     string // the library that the finding is about
	Requirement string // PEP 508, that of the fix
	Tags        string // the new tag of a wheel
)

// Words are a part of a title that depends on how many there are of something: "the library" or
// "these libraries".
type Words struct {
	One, Several string
	several      bool
}

func (w Words) String() string {
	if w.several {
		return w.Several
	}
	return w.One
}

// Tagging returns the title of a fix that changes the tags of a wheel: what is its new tag, and may
// have the reason.
func Tagging(what string) Title {
	return Titled("Tag %s %s", Words{One: "the wheel", Several: "the wheels"}, Tags(what))
}

// Together returns the title of a fix that changes the versions of several packages, of which the
// first is its requirement.
func Together(pins []string) Title {
	t := Titled("Change together: %s", Requirement(pins[0]))
	for _, pin := range pins[1:] {
		t = t.Append(", %s", pin)
	}
	return t
}

// Titled returns a title with the arguments in a format of package fmt.
func Titled(format string, args ...any) Title {
	return Title{fmt.Sprintf(format, args...), format, args}
}

// Text returns a title without parts.
func Text(text string) Title { return Titled("%s", text) }

func (t Title) String() string { return t.text }

// Form is equal for titles that differ only in their objects, libraries and requirements.
func (t Title) Form() string {
	args := slices.Clone(t.args)
	for i, a := range args {
		switch a.(type) {
		case Object, Library, Requirement:
			args[i] = fmt.Sprintf("\x00%T", a)
		}
	}
	return fmt.Sprintf(t.format, args...)
}

// Part returns the first part of a type, or its zero value if the title has none.
func Part[P Object | Library | Requirement | Tags](t Title) (part P) {
	for _, a := range t.args {
		if p, ok := a.(P); ok {
			return p
		}
	}
	return part
}

// With returns the title with another part instead of those of its type.
func With[P Object | Library | Requirement | Tags](t Title, part P) Title {
	args := slices.Clone(t.args)
	for i, a := range args {
		if _, ok := a.(P); ok {
			args[i] = part
		}
	}
	return Titled(t.format, args...)
}

// For returns the title with its Words for n.
func (t Title) For(n int) Title {
	args := slices.Clone(t.args)
	for i, a := range args {
		if w, ok := a.(Words); ok {
			w.several = n > 1
			args[i] = w
		}
	}
	return Titled(t.format, args...)
}

// Equal reports whether two titles are the same text.
func (t Title) Equal(other Title) bool { return t.text == other.text }

// Append returns the title with more at its end.
func (t Title) Append(format string, args ...any) Title {
	return Title{
		text:   t.text + fmt.Sprintf(format, args...),
		format: t.format + format,
		args:   slices.Concat(t.args, args),
	}
}

// Without returns the title without an end that was appended.
func (t Title) Without(end string) Title {
	return Title{
		text:   strings.TrimSuffix(t.text, end),
		format: strings.TrimSuffix(t.format, end),
		args:   t.args,
	}
}

// InSources is the end of titles that say where the builder of a wheel writes a requirement.
const InSources = " (dependencies in pyproject.toml or setup.py)"

// MarshalText returns the title as text.
func (t Title) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// UnmarshalText reads a title without parts.
func (t *Title) UnmarshalText(text []byte) error {
	*t = Text(string(text))
	return nil
}
