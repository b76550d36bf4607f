package abi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Schema is the name of the format that Baseline writes.
const Schema = "compat/abi/v1"

// baseline is the ABI of a library as a file to commit. It is sorted, so that a small change of the
// library is a small change of the file.
type baseline struct {
	Schema string `json:"schema"`
	Digest string `json:"digest"` // SHA-256 of the other fields
	*Library
}

// Baseline returns a library as JSON, with one symbol or type per line. It contains only types that
// exports use, in an order that does not depend on the compiler.
func Baseline(l *Library) ([]byte, error) {
	l = l.sorted()
	l.Name, l.BuildID, l.Problems = title(l), "", nil
	body, err := lines(l)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"schema\": %q,\n\"digest\": %q,\n", Schema, hex.EncodeToString(sum[:]))
	out.Write(body)
	out.WriteString("}\n")
	return out.Bytes(), nil
}

// lines returns the fields of a library as JSON, with one line per list element.
func lines(l *Library) ([]byte, error) {
	var out bytes.Buffer
	head := *l
	head.Symbols, head.Tables, head.Types = nil, nil, nil
	b, err := encode(head)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, err
	}
	for _, name := range []string{"name", "soname", "machine", "class", "byte_order",
		"e_flags", "needed", "undefined", "versions", "versym", "symbolic", "evidence"} {
		if v, ok := fields[name]; ok {
			fmt.Fprintf(&out, "%q: %s,\n", name, v)
		}
	}
	for _, list := range []struct {
		name string
		n    int
		at   func(int) any
	}{
		{"symbols", len(l.Symbols), func(i int) any { return l.Symbols[i] }},
		{"tables", len(l.Tables), func(i int) any { return l.Tables[i] }},
		{"types", len(l.Types), func(i int) any { return l.Types[i] }},
	} {
		fmt.Fprintf(&out, "%q: [", list.name)
		for i := range list.n {
			b, err := encode(list.at(i))
			if err != nil {
				return nil, err
			}
			sep := ",\n"
			if i == 0 {
				sep = "\n"
			}
			out.WriteString(sep)
			out.Write(b)
		}
		end := "],\n"
		if list.name == "types" {
			end = "]\n"
		}
		out.WriteString(end)
	}
	return out.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// sorted returns a copy with symbols sorted by name, and types in the order in which symbols use
// them.
func (l *Library) sorted() *Library {
	out := *l
	out.Symbols = slices.Clone(l.Symbols)
	slices.SortFunc(out.Symbols, func(a, b Symbol) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	out.Needed, out.Versions = slices.Clone(l.Needed), slices.Clone(l.Versions)
	if len(l.Types) == 0 {
		return &out
	}
	number := make([]TypeID, len(l.Types))
	order := []TypeID{0}
	visit := func(id TypeID) TypeID {
		if id != 0 && number[id] == 0 {
			number[id] = TypeID(len(order))
			order = append(order, id)
		}
		return number[id]
	}
	for i := range out.Symbols {
		out.Symbols[i].Type = visit(out.Symbols[i].Type)
		out.Symbols[i].File = short(out.Symbols[i].File)
	}
	out.Types = make([]Type, 0, len(l.Types))
	for n := 0; n < len(order); n++ {
		t := l.Types[order[n]].mapped(visit)
		t.File = short(t.File)
		out.Types = append(out.Types, t)
	}
	return &out
}

// mapped returns a copy of a type that refers to other types.
func (t Type) mapped(to func(TypeID) TypeID) Type {
	t.Elem = to(t.Elem)
	t.Members = slices.Clone(t.Members)
	t.Bases = slices.Clone(t.Bases)
	t.Params = slices.Clone(t.Params)
	t.Virtuals = slices.Clone(t.Virtuals)
	t.Arguments = slices.Clone(t.Arguments)
	for i := range t.Members {
		t.Members[i].Type = to(t.Members[i].Type)
	}
	for i := range t.Bases {
		t.Bases[i].Type = to(t.Bases[i].Type)
	}
	for i := range t.Params {
		t.Params[i].Type = to(t.Params[i].Type)
	}
	for i := range t.Virtuals {
		t.Virtuals[i].Type = to(t.Virtuals[i].Type)
	}
	for i := range t.Arguments {
		t.Arguments[i] = to(t.Arguments[i])
	}
	return t
}

// short returns a file with its last folder; the rest of the path depends on the build machine.
func short(file string) string {
	for i, slashes := len(file)-1, 0; i >= 0; i-- {
		if file[i] != '/' {
			continue
		}
		if slashes++; slashes == 2 {
			return file[i+1:]
		}
	}
	return file
}

// ParseBaseline parses the result of Baseline. It returns an error if the file is invalid, or
// edited so that its digest does not match.
func ParseBaseline(b []byte) (*Library, error) {
	x := baseline{Library: &Library{}}
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, fmt.Errorf("not an ABI baseline: %w; write one with compat abi FILE", err)
	}
	if x.Schema != Schema {
		return nil, fmt.Errorf(
			"schema %q, and this version of compat reads %s; write the baseline again with "+
				"compat abi FILE",
			x.Schema,
			Schema,
		)
	}
	l := x.Library
	if err := l.check(); err != nil {
		return nil, err
	}
	body, err := lines(l)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != x.Digest {
		return nil, fmt.Errorf(
			"the digest does not match: the baseline was edited; write it again with compat abi FILE",
		)
	}
	return l, nil
}

// check returns an error if a type refers to one that does not exist.
func (l *Library) check() error {
	wrong := func(id TypeID) bool { return id != 0 && (id < 0 || int(id) >= len(l.Types)) }
	for i := range l.Symbols {
		if wrong(l.Symbols[i].Type) {
			return fmt.Errorf(
				"symbol %s refers to type %d of %d",
				l.Symbols[i].Name,
				l.Symbols[i].Type,
				len(l.Types),
			)
		}
	}
	for i := range l.Types {
		bad := false
		l.Types[i].uses(func(id TypeID) { bad = bad || wrong(id) })
		if bad {
			return fmt.Errorf("type %d refers to a type that does not exist", i)
		}
	}
	if !slices.IsSortedFunc(
		l.Tables,
		func(a, b Table) int { return cmp.Compare(a.Symbol, b.Symbol) },
	) {
		return fmt.Errorf("the tables are not sorted")
	}
	return nil
}

// IsBaseline reports whether head is the start of a baseline.
func IsBaseline(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) &&
		bytes.Contains(head, []byte(`"`+Schema+`"`))
}
