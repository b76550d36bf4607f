package analyzer_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// opener returns a wheel with a plug-in whose symbol a large library provides: it opens the one that
// has it by its name, which is among its constants. Without the symbol nothing asks for that name.
func opener(t *testing.T, asks bool) analyzer.Input {
	t.Helper()
	object := func(lines string) []byte { return built(t, "needed libc.so.6\n"+lines) }
	noise := make([]byte, 5<<20) // of which nothing is read
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	tail := &strings.Builder{} // in many blocks of compressed data, with which the end can be read
	for range 60_000 {
		fmt.Fprintf(tail, "_ZN%dat%xEv\x00", r.IntN(90), r.Uint32())
	}
	plugin := "soname libplugin.so\n"
	if asks {
		plugin += "import shared_host\n"
	}
	name, content := cases.Wheel{
		Name: "tool", Version: "1.0", Tags: []string{"cp312-cp312-manylinux_2_28_x86_64"},
		Files: map[string][]byte{
			"tool/__init__.py": []byte("from . import _tool\n"),
			"tool/_tool.cpython-312-x86_64-linux-gnu.so": object(
				"needed libopener.so\nrunpath $ORIGIN\nexport PyInit__tool\n"),
			"tool/libopener.so": object("soname libopener.so\nimport dlopen@GLIBC_2.2.5 libc.so.6\n" +
				"section .rodata 006c69627368617265642e736f00\n" + // libshared.so
				"section .noise " + hex.EncodeToString(noise) + "\n" +
				"section .tail " + hex.EncodeToString([]byte(tail.String())) + "\n"),
			"tool/libshared.so": object("soname libshared.so\nexport shared_host\n"),
			"tool/libplugin.so": object(plugin),
		},
	}.File()
	return analyzer.Input{
		Name: name, Content: bytes.NewReader(content), Size: int64(len(content)), SHA256: "of the wheel",
	}
}

// checked returns the report on an environment with that wheel.
func checked(t *testing.T, in analyzer.Input) *analyzer.Report {
	t.Helper()
	r, err := analyzer.New(rules.All()).CheckEnvironment(t.Context(), &analyzer.Environment{
		Wheels: []analyzer.Input{in}, With: []string{"tool==1.0"}, Platform: "manylinux_2_28",
		On: packages.Target{Python: "3.12", Arch: "x86_64"},
	}, nil, analyzer.Options{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLean checks that a check of an environment, which does not read the constants of large objects
// at first, has the same result as one that does, and reads them only if it matters: of the wheel,
// and also if it has only what an earlier check kept.
func TestLean(t *testing.T) {
	for _, asks := range []bool{true, false} {
		whole := opener(t, asks)
		var kept [][]byte
		reopened := 0
		check := func(in analyzer.Input) string {
			kept, reopened = nil, 0
			in.Keep = func(stored []byte, whole bool) {
				if kept = append(kept, stored); whole == in.Partial {
					t.Errorf("whole: %t", whole)
				}
			}
			r := checked(t, in)
			text := string(r.Verdict)
			for _, f := range r.Findings {
				text += "\n" + f.Rule + " " + f.Message
			}
			return text
		}
		again := 0 // the wheel is read a second time
		if asks {
			again = 1
		}
		partial := whole
		partial.Partial = true
		want := check(whole)
		if !strings.HasPrefix(want, "compatible") || strings.Contains(want, "undefined-symbol") {
			t.Errorf("whole: %s", want)
		}
		if got := check(partial); got != want || len(kept) != 1+again {
			t.Errorf("in parts, kept %d times: %s\nwant %s", len(kept), got, want)
		}
		first, last := kept[0], kept[len(kept)-1]
		for _, c := range []struct {
			data     []byte
			reopened int
		}{{last, 0}, {first, again}} {
			if got := check(analyzer.Input{
				Name: whole.Name, Content: bytes.NewReader(c.data), Size: int64(len(c.data)), Stored: true,
				Reopen: func(context.Context) (analyzer.Input, error) {
					reopened++
					return partial, nil
				},
			}); got != want || reopened != c.reopened {
				t.Errorf("stored, opened %d times, want %d: %s\nwant %s", reopened, c.reopened, got, want)
			}
		}
	}
}

// TestLeanWithoutWheel checks that facts without the names are not taken for complete ones, and that
// the check ends, if the wheel itself cannot be read: it is listed as not read, with the reason.
func TestLeanWithoutWheel(t *testing.T) {
	var kept []byte
	wheel := opener(t, true)
	wheel.Partial = true
	wheel.Keep = func(stored []byte, _ bool) {
		if kept == nil { // without the names
			kept = stored
		}
	}
	checked(t, wheel)
	for reason, reopen := range map[string]func(context.Context) (analyzer.Input, error){
		"cannot be read": nil,
		"the limit of 1 MB was reached": func(context.Context) (analyzer.Input, error) {
			return analyzer.Input{}, errors.New("the limit of 1 MB was reached")
		},
		"the connection was closed": func(context.Context) (analyzer.Input, error) {
			broken := wheel
			broken.Content = unreadable{}
			return broken, nil
		},
	} {
		r := checked(t, analyzer.Input{
			Name: wheel.Name, Content: bytes.NewReader(kept), Size: int64(len(kept)), Stored: true,
			Reopen: reopen,
		})
		if r.Verdict != analyzer.Unchecked || len(r.Artifacts) != 1 || len(r.Unread) != 1 ||
			r.Unread[0].Path != wheel.Name || !strings.Contains(r.Unread[0].Reason, reason) {
			t.Errorf("%s: %s, not read: %+v", reason, r.Verdict, r.Unread)
		}
	}
}

// unreadable is content that a connection does not provide any more.
type unreadable struct{}

func (unreadable) ReadAt([]byte, int64) (int, error) {
	return 0, &unpack.SourceError{Err: errors.New("the connection was closed")}
}
