//go:build parts

package parts

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/facts"
	"github.com/compat-app/compat/analyzer/gpu"
	"github.com/compat-app/compat/internal/compact"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/spool"
)

// recorded counts the different bytes that are read.
type recorded struct {
	io.ReaderAt
	mu    sync.Mutex
	spans [][2]int64
}

func (r *recorded) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, [2]int64{off, off + int64(n)})
	return n, err
}

func (r *recorded) bytes() (n int64) {
	slices.SortFunc(r.spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	end := int64(0)
	for _, s := range r.spans {
		n += max(s[1]-max(s[0], end), 0)
		end = max(end, s[1])
	}
	return n
}

// wheel is a wheel as a package index gives it.
type wheel struct {
	name    string
	content io.ReaderAt
	size    int64
}

// read returns the facts of a wheel without the GPUs that it has code for.
func (w wheel) read(t *testing.T, partial, lean bool) (*facts.Set, *elfobj.Names) {
	names := elfobj.NewNames()
	set, err := facts.Read(t.Context(), []facts.Input{{
		Name: w.name, Content: w.content, Size: w.size, SHA256: "not needed", Partial: partial,
	}}, facts.Options{NoGPU: true, Lean: lean, Scratch: spool.In("")}, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range set.Artifacts {
		for _, o := range a.Objects {
			o.GPU = gpu.Archs{}
		}
	}
	return set, names
}

// leave removes from facts what others have left out.
func leave(of, lean *facts.Set) {
	for n, a := range lean.Artifacts {
		for i, o := range a.Objects {
			if o.Unsearched {
				of.Artifacts[n].Objects[i].Opens, o.Unsearched = nil, false
			}
		}
	}
}

// TestParts reads the wheels in a folder as a package index gives them: whole, in parts, and in parts
// without what few checks ask for. The facts are the same.
func TestParts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("COMPAT_WHEELS"), "*.whl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no wheels in COMPAT_WHEELS: %v", err)
	}
	var all, parts, least int64
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		content, size, err := index.Part(name, f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		want, names := wheel{name, content, size}.read(t, false, false)
		whole := compact.Encode(want, names)
		middle := time.Now()
		r, lean := &recorded{ReaderAt: content}, &recorded{ReaderAt: content}
		if got, names := (wheel{name, r, size}).read(t, true, false); !bytes.Equal(
			compact.Encode(got, names), whole) {
			t.Errorf("%s: other facts", name)
		}
		took := time.Since(middle)
		got, others := wheel{name, lean, size}.read(t, true, true)
		if leave(want, got); !bytes.Equal(compact.Encode(got, others), compact.Encode(want, names)) {
			t.Errorf("%s: other facts without what is left out", name)
		}
		n, m := r.bytes(), lean.bytes()
		all, parts, least = all+size, parts+n, least+m
		name, _, _ = strings.Cut(name, "-cp")
		t.Logf("%-50s %7.1f, %7.1f of %7.1f MB, %5.2f and %5.2f s", name, float64(m)/1e6,
			float64(n)/1e6, float64(size)/1e6, took.Seconds(), middle.Sub(start).Seconds())
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d wheels: %.1f, %.1f of %.1f MB", len(files), float64(least)/1e6, float64(parts)/1e6,
		float64(all)/1e6)
}
