package elftest

import "github.com/compat-app/compat/analyzer/elfobj"

// Build returns the file of the object with a text form.
func Build(text string) ([]byte, error) {
	o, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Write(o)
}

// TB is the part of testing.TB that Object and File use. With it, programs that write files do not
// contain the package testing.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Object returns the object with a text form. A test with a wrong one fails.
func Object(t TB, text string) *elfobj.Object {
	t.Helper()
	o, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// File is Build for tests. A test with a wrong one fails.
func File(t TB, text string) []byte {
	t.Helper()
	b, err := Build(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
