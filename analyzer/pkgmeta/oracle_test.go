package pkgmeta

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
)

// table reads a file that testdata/oracle.py wrote.
func table(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][]string
	s := bufio.NewScanner(f)
	for s.Scan() {
		rows = append(rows, strings.Split(s.Text(), "\t"))
	}
	if s.Err() != nil || len(rows) < 20 {
		t.Fatalf("%s: %d rows, %v", name, len(rows), s.Err())
	}
	return rows
}

func mustVersion(t *testing.T, s string) Version {
	t.Helper()
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVersionsAsPackaging(t *testing.T) {
	for _, row := range table(t, "versions.txt") {
		switch row[0] {
		case "ok":
			v, err := ParseVersion(row[1])
			if err != nil {
				t.Error(err)
				continue
			}
			if got := []string{"ok", row[1], v.String(),
				map[bool]string{true: "1", false: "0"}[v.IsPreRelease()], v.Local()}; !slices.Equal(
				got,
				row,
			) {
				t.Errorf("got %q, want %q", got, row)
			}
		case "bad":
			if v, err := ParseVersion(row[1]); err == nil {
				t.Errorf("%q is read as %s", row[1], v)
			}
		case "order":
			for i, a := range row[1:] {
				for j, b := range row[1:] {
					want := 0
					if i != j {
						want = map[bool]int{true: -1, false: 1}[i < j]
					}
					for a := range strings.SplitSeq(a, "=") {
						for b := range strings.SplitSeq(b, "=") {
							if got := mustVersion(t, a).Compare(mustVersion(t, b)); got != want {
								t.Errorf("%s against %s: %d, want %d", a, b, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestSpecsAsPackaging(t *testing.T) {
	var versions []string
	for _, row := range table(t, "versions.txt") {
		if row[0] == "ok" {
			versions = append(versions, row[1])
		}
	}
	for _, row := range table(t, "specs.txt") {
		s, err := ParseSpec(row[1])
		if row[0] == "bad" {
			if err == nil {
				t.Errorf("%q is accepted as a specifier", row[1])
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		for i, text := range versions {
			v, got := mustVersion(t, text), byte('-')
			switch {
			case s.Contains(v):
				got = 'c'
			case s.Admits(v):
				got = 'a'
			}
			if got != row[2][i] {
				t.Errorf(
					"%q and %s: got %c, want %c (c contained, a admitted, - neither)",
					row[1],
					text,
					got,
					row[2][i],
				)
			}
		}
	}
}

func TestMarkersAsPackaging(t *testing.T) {
	for _, row := range table(t, "markers.txt") {
		if row[0] == "bad" {
			if r, err := ParseRequirement("a ; " + row[1]); err == nil {
				t.Errorf("marker %q is read as %+v", row[1], r)
			}
			continue
		}
		got := "undefined"
		r, err := ParseRequirement("a ; " + row[3])
		if err == nil {
			var extras []string
			if row[2] != "" {
				extras = []string{row[2]}
			}
			if ok, err := r.Applies(DefaultMarkerEnv(row[0], row[1]), extras...); err == nil {
				got = map[bool]string{true: "true", false: "false"}[ok]
			}
		}
		if got != row[4] {
			t.Errorf(
				"%s on %s %s with extra %q: got %s, want %s (%v)",
				row[3],
				row[0],
				row[1],
				row[2],
				got,
				row[4],
				err,
			)
		}
	}
}

func TestRequirementsAsPackaging(t *testing.T) {
	for _, row := range table(t, "requirements.txt") {
		r, err := ParseRequirement(row[1])
		if row[0] == "bad" {
			if err == nil {
				t.Errorf("%q is read as %+v", row[1], r)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		var clauses []string
		for c := range strings.SplitSeq(r.Spec, ",") {
			if c = strings.ReplaceAll(c, " ", ""); c != "" {
				clauses = append(clauses, c)
			}
		}
		slices.Sort(clauses)
		got := []string{
			"ok",
			row[1],
			r.Name,
			strings.Join(r.Extras, ","),
			strings.Join(clauses, ","),
			r.URL,
			map[bool]string{true: "1", false: "0"}[r.Marker != ""],
		}
		if !slices.Equal(got, row) {
			t.Errorf("got  %q\nwant %q", got, row)
		}
	}
}
