package buildlog

import (
	"strings"
	"testing"
	"time"
)

const githubLog = `2025-03-01T10:00:00.1000000Z ##[group]Run make
2025-03-01T10:00:00.1000000Z <ESC>[36;1mmake || echo "undefined symbol: of_the_script"<ESC>[0m
2025-03-01T10:00:00.1000000Z shell: /usr/bin/bash -e {0}
2025-03-01T10:00:00.1000000Z env:
2025-03-01T10:00:00.1000000Z   HINT: undefined symbol: of_the_environment
2025-03-01T10:00:00.1000000Z ##[endgroup]
2025-03-01T10:00:01.1000000Z ##[group]Run tests
2025-03-01T10:00:02.2500000Z /usr/bin/ld: main.o: undefined reference to ` + "`first'" + `
2025-03-01T10:00:03.1000000Z ##[endgroup]
2025-03-01T10:00:04.1000000Z x.so: undefined symbol: second
`

// TestPlaces: a group that a program starts contains its output, while GitHub's own contains
// the script. Each diagnosis has its time and the number of lines that GitHub does not show.
func TestPlaces(t *testing.T) {
	r, err := Read(strings.NewReader(strings.ReplaceAll(githubLog, "<ESC>", "\x1b")))
	if err != nil || len(r.Diagnoses) != 2 || len(r.Sections) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []struct {
		symbol     string
		line, ends int
		at         time.Time
	}{{"first", 8, 1, time.Date(2025, 3, 1, 10, 0, 2, 250_000_000, time.UTC)},
		{"second", 10, 2, time.Date(2025, 3, 1, 10, 0, 4, 100_000_000, time.UTC)}} {
		if d := r.Diagnoses[i]; d.Symbol != want.symbol || d.Line != want.line ||
			d.Place.Ends != want.ends ||
			!d.Place.Time.Equal(want.at) {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
	if s := r.Sections[1]; s.Line != 7 || s.Title != "Run tests" || s.Ends != 1 {
		t.Errorf("%+v", s)
	}
	// Without colors the two kinds of groups cannot be distinguished.
	plain := strings.NewReplacer("<ESC>[36;1m", "", "<ESC>[0m", "").Replace(githubLog)
	if got := read(t, plain); len(got) != 1 || got[0].Symbol != "second" {
		t.Errorf("%s", format(got))
	}
	if got := read(t, "x.so: undefined symbol: bare\n"); !got[0].Place.Time.IsZero() {
		t.Errorf("%+v", got[0].Place)
	}
}
