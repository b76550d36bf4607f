package facts

import (
	"bytes"
	"errors"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/unpack"
)

// The code of an object is searched for calls that import types unless the names of its symbols
// show that there are none, however they are divided.
func TestExaminesCode(t *testing.T) {
	for _, c := range []struct {
		name, before string
		want         bool
	}{
		{"nothing precedes the code", "", true},
		{"no names precede it", "\x00\x01ZZZZZZZZZZZZ", true},
		{"names of another library", "\x00__cxa_finalize\x00PyErr_Format\x00", false},
		{"names of a module of Cython", "\x00PyErr_WarnEx\x00__cxa_finalize\x00", true},
		{"names of a newer one", "\x00__cxa_finalize\x00PyErr_WarnFormat\x00", true},
	} {
		for cut := range len(c.before) + 1 {
			s := &codeSample{}
			s.Before([]byte(c.before[:cut]))
			s.Before([]byte(c.before[cut:]))
			if s.examines() != c.want {
				t.Errorf("%s, divided at %d: %v", c.name, cut, !c.want)
			}
		}
	}
}

// skipped is the content of an object whose code was not stored.
type skipped struct {
	*bytes.Reader
	missed bool
}

func (s *skipped) ReadAt(p []byte, at int64) (int, error) {
	if at >= unpack.SkipUnit && at < 2*unpack.SkipUnit {
		s.missed = true
		return 0, errors.New("not stored")
	}
	return s.Reader.ReadAt(p, at)
}

// If calls are needed that were not searched, the code is read, so that the object is inflated
// again.
func TestCodeIsReadAgain(t *testing.T) {
	b, err := elftest.Write(&elfobj.Object{
		Sections: []elfobj.Section{{Name: ".text", Data: make([]byte, 3*unpack.SkipUnit)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"__cxa_finalize", "__cxa_finalize PyErr_WarnEx"} {
		s := &codeSample{}
		s.Before([]byte(before))
		content := &skipped{Reader: bytes.NewReader(b)}
		readCalls(&unpack.File{Content: content, Size: int64(len(b)), Skimmed: s})
		if content.missed == s.examines() {
			t.Errorf("%s: the code is read: %v", before, content.missed)
		}
	}
}
