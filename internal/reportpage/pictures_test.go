package reportpage

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/test/browser"
	"github.com/compat-app/compat/internal/test/githubtest/cases"
)

// checked returns the stored report of a check of wheels.
func checked(t *testing.T, wheels ...cases.Wheel) []byte {
	t.Helper()
	var inputs []analyzer.Input
	for _, w := range wheels {
		name, content := w.File()
		inputs = append(inputs, analyzer.Input{Name: "dist/" + name,
			Content: bytes.NewReader(content), Size: int64(len(content))})
	}
	r, err := analyzer.New(rules.All()).Check(t.Context(), inputs, analyzer.Options{NoIndex: true})
	if err != nil {
		t.Fatal(err)
	}
	r.Tool.Version = "1.0.0"
	return stored(t, r, report.NewView(r))
}

// renamed returns a wheel of another project and version.
func renamed(w cases.Wheel, name, version string) cases.Wheel {
	w.Name, w.Version = name, version
	return w
}

// sixty returns wheels of which each sixth fails, each tenth is for another system, and the others
// work.
func sixty() (out []cases.Wheel) {
	for i := range 60 {
		w := cases.Clean("2.1")
		switch {
		case i%6 == 0:
			w = cases.CaseA("2.1")
		case i%10 == 1:
			w = cases.Windows("2.1")
		case i%10 == 3:
			w = cases.MacOS("2.1")
		}
		out = append(out, renamed(w, fmt.Sprintf("part-%02d", i), "2.1"))
	}
	return out
}

// The page of one wheel, of five, of sixty, and of 10,000 findings can be read without scrolling
// far. COMPAT_SCREENS is the folder for their pictures.
func TestPictures(t *testing.T) {
	b := browser.Start(t)
	one := cases.CaseA("1.5.0")
	five := []cases.Wheel{one, cases.CaseB("1.1.0", "nvidia-nvjitlink-cu12>=12.8,<12.9"),
		cases.Windows("1.0"), renamed(cases.Clean("2.0"), "clean-base", "2.0"),
		renamed(cases.MacOS("1.0"), "clean-mac", "1.0")}
	all := reports{}
	for key, data := range map[string][]byte{"a1": checked(t, one), "a5": checked(t, five...),
		"60": checked(t, sixty()...), "10": checked(t, cases.Many("3.0", 10_000))} {
		all[store.ReportKey(strings.Repeat(key, 16))] = data
	}
	h, err := New(all, t.TempDir(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	for _, x := range []struct {
		name, key, want string
		view            browser.View
		most            int // height in pixels
	}{
		{"one", "a1", "warp-lang 1.5.0", browser.View{Width: 900}, 1700},
		{"one-phone", "a1", "warp-lang 1.5.0", browser.View{Width: 390}, 2800},
		{"one-dark", "a1", "pow@GLIBC_2.29", browser.View{Width: 900, Dark: true}, 1700},
		{"one-print", "a1", "pow@GLIBC_2.29", browser.View{Width: 700, Print: true}, 2600},
		{"five", "a5", "5 wheels", browser.View{Width: 900}, 4500},
		{"five-phone", "a5", "5 wheels", browser.View{Width: 390}, 8200},
		{"sixty", "60", "60 wheels", browser.View{Width: 900}, 4200},
		{"sixty-phone", "60", "60 wheels", browser.View{Width: 390}, 6500},
		{"findings", "10", "many_0000@GLIBC_2.38", browser.View{Width: 900}, 1650},
	} {
		p := b.Open(server.URL+"/reports/"+strings.Repeat(x.key, 16), x.view)
		seen := p.Look()
		if problems := append(seen.Problems(), p.Violations()...); len(problems) > 0 {
			t.Errorf("%s: %q", x.name, problems)
		}
		var text string
		p.Eval("document.body.innerText", &text)
		if !strings.Contains(text, x.want) {
			t.Errorf("%s has no %q", x.name, x.want)
		}
		var high int
		p.Eval("document.documentElement.scrollHeight", &high)
		t.Logf("%s is %d pixels high", x.name, high)
		if high > x.most {
			t.Errorf("%s is %d pixels high", x.name, high)
		}
		if dir := os.Getenv("COMPAT_SCREENS"); dir != "" {
			file := filepath.Join(dir, "report-"+x.name+".png")
			if err := os.WriteFile(file, p.Picture(1600), 0o644); err != nil {
				t.Error(err)
			}
		}
		p.Close()
	}
}

// The choice of a result hides the other rows, and a link to a folded cause opens it, both without
// scripts.
func TestChoiceWithoutScripts(t *testing.T) {
	b := browser.Start(t)
	id := strings.Repeat("60", 16)
	h, err := New(reports{store.ReportKey(id): checked(t, sixty()...)}, t.TempDir(), nil,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	p := b.Open(server.URL+"/reports/"+id, browser.View{Width: 900, NoScripts: true})
	const rows = `[...document.querySelectorAll("tr[class]")].filter(r => r.offsetHeight).map(
		r => r.className).join(" ")`
	var before, after string
	p.Eval(rows, &before)
	p.Eval(`document.querySelector("[value=fails]").click()`, nil)
	p.Eval(rows, &after)
	if !strings.Contains(before, "of-works") || after != "of-fails of-fails" {
		t.Errorf("rows %q, then %q", before, after)
	}
	var id2 string
	p.Eval(`document.querySelector("article > details:not([open]) .anchor")?.id ?? ""`, &id2)
	if id2 == "" {
		t.Fatal("no cause is folded")
	}
	p.Close()
	p = b.Open(server.URL+"/reports/"+id+"#"+id2, browser.View{Width: 900, NoScripts: true})
	var open bool
	p.Eval(`document.querySelector(location.hash).closest("details").open`, &open)
	if !open {
		t.Errorf("a link to %s does not open it", id2)
	}
	p.Close()
}
