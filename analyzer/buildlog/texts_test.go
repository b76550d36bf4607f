package buildlog

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// TestTexts checks testdata/texts, one archive for each ecosystem or kind of tool. A file of it is
// a text after lines with what is expected: the class, fields, a regular expression for the first
// fix ("advice") and one that no message and no fix may match ("never"; that of the archive's
// comment too). "class none" is for a text without a diagnosis.
func TestTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/texts/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(data)
		_, never, _ := strings.Cut(strings.TrimSpace(string(a.Comment)), "never ")
		for _, f := range a.Files {
			texts++
			t.Run(f.Name, func(t *testing.T) {
				head, text, _ := strings.Cut(string(f.Data), "\n\n")
				want := map[string]string{"never": never}
				for line := range strings.Lines(head) {
					key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
					if key == "never" && never != "" {
						value += "|" + never
					}
					want[key] = value
				}
				checkText(t, want, read(t, text))
			})
		}
	}
	if texts < 150 {
		t.Errorf("%d texts", texts)
	}
}

func checkText(t *testing.T, want map[string]string, got []Diagnosis) {
	t.Helper()
	if want["class"] == "none" {
		if len(got) > 0 {
			t.Errorf("got\n%s", format(got))
		}
		return
	}
	if len(got) == 0 || got[0].Class != want["class"] {
		t.Fatalf("want %s, got\n%s", want["class"], format(got))
	}
	d := got[0]
	for key, value := range map[string]string{"symbol": d.Symbol, "version": d.Version,
		"library": base(d.Library), "object": base(d.Object)} {
		if w, ok := want[key]; ok && w != value {
			t.Errorf("%s %q, want %q", key, value, w)
		}
	}
	said := func(title string, command string) string { return title + " " + command }
	first := said(d.Fixes[0].Title.String(), string(d.Fixes[0].Command))
	if !regexp.MustCompile("(?i)" + want["advice"]).MatchString(first) {
		t.Errorf("the first fix is %q, want %s", first, want["advice"])
	}
	if want["never"] == "" {
		return
	}
	never := regexp.MustCompile(want["never"])
	for _, d := range got {
		all := []string{d.Message}
		for _, f := range d.Fixes {
			all = append(all, said(f.Title.String(), string(f.Command)))
		}
		for _, s := range all {
			if hit := never.FindString(s); hit != "" {
				t.Errorf("%q is said: %s", hit, s)
			}
		}
	}
}
