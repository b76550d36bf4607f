package sbom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of what Parse reads. The longest known document, that of uv 0.13, has 0.8 MB and 600
// components, nested 8 deep; the members of an object are those of the formats, at most 40.
const (
	MaxSize       = 8 << 20
	maxDepth      = 64
	maxMembers    = 256
	maxComponents = 10_000
	maxText       = 4096 // bytes of a text that is kept
)

// Names of formats.
const (
	CycloneDX = "CycloneDX"
	SPDX      = "SPDX"
)

// Document is what a bill of materials lists.
type Document struct {
	Format  string   // CycloneDX, SPDX, or "" for JSON of another kind
	Version string   // of the format: "1.6", "SPDX-2.3"
	Tools   []string // names of the tools that wrote it, in order; nil for SPDX
	// Subject is what it describes (metadata.component of CycloneDX); zero if it does not say that.
	Subject    Component
	Components []Component // in order, nested ones after the one that contains them
}

// Component is one component. Missing fields are "".
type Component struct {
	Name    string
	Version string
	PURL    string // package URL, as written
	Ref     string // bom-ref of CycloneDX
}

// ErrLimit is wrapped by errors about documents that may be right, but are over a limit.
var ErrLimit = errors.New("over a limit")

// Parse reads a document.
//
// It returns an error unless data has at most MaxSize bytes and is one JSON object in UTF-8, after
// an optional byte order mark, and no object in it has a name twice: readers differ about which of
// the two they use. Of a document over a limit the error wraps ErrLimit.
func Parse(data []byte) (*Document, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes: %w", len(data), ErrLimit)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := &reader{json: json.NewDecoder(bytes.NewReader(data))}
	r.json.UseNumber()
	d := &Document{}
	err := r.one(func() error { return r.document(d) })
	if err == nil {
		if _, after := r.json.Token(); !errors.Is(after, io.EOF) {
			err = errors.New("it is not valid JSON: something follows its end")
		}
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// reader reads a document token by token.
type reader struct {
	json  *json.Decoder
	next  json.Token // of the current value
	depth int
}

func (r *reader) token() error {
	t, err := r.json.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it ends too early")
		}
		return fmt.Errorf("it is not valid JSON: %w", err)
	}
	r.next = t
	return nil
}

// one reads the first token of a value and calls read, which reads the rest of it.
func (r *reader) one(read func() error) error {
	if err := r.token(); err != nil {
		return err
	}
	if _, ok := r.next.(json.Delim); !ok {
		return read()
	}
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("it is nested more than %d deep: %w", maxDepth, ErrLimit)
	}
	defer func() { r.depth-- }()
	return read()
}

// object reads the members of an object after its brace: member is called for each name, and reads
// the value with one of the methods of r. A value of another type is skipped.
func (r *reader) object(member func(name string) error) error {
	if r.next != json.Delim('{') {
		return r.rest()
	}
	var names []string
	for r.json.More() {
		if err := r.token(); err != nil {
			return err
		}
		name, _ := r.next.(string)
		if slices.Contains(names, name) {
			return fmt.Errorf("an object in it has the name %.80q twice", name)
		}
		if names = append(names, name); len(names) > maxMembers {
			return fmt.Errorf("an object in it has more than %d members: %w", maxMembers, ErrLimit)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	return r.token() // the brace
}

// array calls read for each value of an array, after its bracket. A value of another type is
// skipped.
func (r *reader) array(read func() error) error {
	if r.next != json.Delim('[') {
		return r.rest()
	}
	for r.json.More() {
		if err := r.one(read); err != nil {
			return err
		}
	}
	return r.token()
}

// rest reads the rest of a value that is not used.
func (r *reader) rest() error {
	switch r.next {
	case json.Delim('{'):
		return r.object(func(string) error { return r.one(r.rest) })
	case json.Delim('['):
		return r.array(r.rest)
	}
	return nil
}

// text reads a value and stores it in to if it is a string. One over maxText is not stored.
func (r *reader) text(to *string) error {
	return r.one(func() error {
		if s, ok := r.next.(string); ok && len(s) <= maxText {
			*to = strings.Clone(s)
		}
		return r.rest()
	})
}

func (r *reader) document(d *Document) error {
	if r.next != json.Delim('{') {
		return errors.New("it is not a JSON object")
	}
	return r.object(func(name string) error {
		switch name {
		case "bomFormat":
			return r.text(&d.Format)
		case "specVersion":
			return r.text(&d.Version)
		case "spdxVersion":
			d.Format = SPDX
			return r.text(&d.Version)
		case "metadata":
			return r.one(func() error { return r.metadata(d) })
		case "components", "packages":
			return r.one(func() error { return r.components(d) })
		}
		return r.one(r.rest)
	})
}

func (r *reader) metadata(d *Document) error {
	return r.object(func(name string) error {
		switch name {
		case "component":
			return r.one(func() error {
				_, err := r.component(nil, &d.Subject)
				return err
			})
		case "tools":
			return r.one(func() error { return r.tools(d) })
		}
		return r.one(r.rest)
	})
}

// tools reads the list of tools, which is an object with components since CycloneDX 1.5.
func (r *reader) tools(d *Document) error {
	if r.next == json.Delim('{') {
		return r.object(func(name string) error {
			if name == "components" {
				return r.one(func() error { return r.tools(d) })
			}
			return r.one(r.rest)
		})
	}
	return r.array(func() error {
		var tool string
		err := r.object(func(name string) error {
			if name == "name" {
				return r.text(&tool)
			}
			return r.one(r.rest)
		})
		if tool != "" && len(d.Tools) < maxMembers {
			d.Tools = append(d.Tools, tool)
		}
		return err
	})
}

func (r *reader) components(d *Document) error {
	return r.array(func() error {
		if len(d.Components) >= maxComponents {
			return fmt.Errorf("it has more than %d components: %w", maxComponents, ErrLimit)
		}
		at := len(d.Components)
		d.Components = append(d.Components, Component{})
		var c Component
		isOne, err := r.component(d, &c)
		if !isOne {
			d.Components = slices.Delete(d.Components, at, at+1)
		} else {
			d.Components[at] = c
		}
		return err
	})
}

// component reads a component of CycloneDX or a package of SPDX. Those inside of it are added to d,
// unless it is nil. It returns false if the value is no object.
func (r *reader) component(d *Document, c *Component) (bool, error) {
	isOne := r.next == json.Delim('{')
	return isOne, r.object(func(name string) error {
		switch name {
		case "name":
			return r.text(&c.Name)
		case "version", "versionInfo":
			return r.text(&c.Version)
		case "purl":
			return r.text(&c.PURL)
		case "bom-ref", "SPDXID":
			return r.text(&c.Ref)
		case "externalRefs":
			return r.one(func() error { return r.references(c) })
		case "components":
			if d != nil {
				return r.one(func() error { return r.components(d) })
			}
		}
		return r.one(r.rest)
	})
}

// references reads the external references of a package of SPDX.
func (r *reader) references(c *Component) error {
	return r.array(func() error {
		var kind, locator string
		err := r.object(func(name string) error {
			switch name {
			case "referenceType":
				return r.text(&kind)
			case "referenceLocator":
				return r.text(&locator)
			}
			return r.one(r.rest)
		})
		if kind == "purl" {
			c.PURL = locator
		}
		return err
	})
}
