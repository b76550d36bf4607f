package comment

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

// TestHostileSources: source files of a pull request are searched for the line of a finding within
// seconds, whatever their lines are.
func TestHostileSources(t *testing.T) {
	const size = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, text := range map[string]string{
		"names in a line":     fill("torch "),
		"quoted names":        fill(`"torch",`),
		"brackets":            fill("torch["),
		"parentheses":         fill("torch ("),
		"operators":           fill("torch>="),
		"quotes":              fill(`"`),
		"spaces":              fill(" ") + "torch",
		"spaces and names":    fill(strings.Repeat(" ", 512) + "torch"),
		"dashes":              fill("-_."),
		"long lines":          fill(strings.Repeat("torch ", maxLine/6) + "\n"),
		"short lines":         fill("torch\n"),
		"empty lines":         fill("\n"),
		"sections":            fill("[a]\n"),
		"assignments":         fill("torch = "),
		"library flags":       fill("-ltorch "),
		"images":              fill("manylinux_2_28_x86_64 "),
		"not UTF-8":           fill("\xff"),
		"one name":            strings.Repeat("x", size),
		"a name with a colon": fill("image: quay.io/pypa/"),
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{}
			for i := range maxCandidates {
				for _, file := range []string{"pyproject.toml", "CMakeLists.txt", "Dockerfile", "requirements.txt"} {
					if i%4 == len(files)%4 {
						files[fmt.Sprintf("d%d/%s", i, file)] = text
					}
				}
			}
			r := of()
			for i := range 3000 {
				f := needs(fmt.Sprintf("sym_%d", i), "GLIBC_2.29", "libtorch.so")
				f.Object, f.Package = fmt.Sprintf("widget/lib%d.so", i), fmt.Sprintf("torch%d", i%7)
				f.Fixes = []fix.Fix{{Kind: fix.KindPin, Requirement: "torch>=2", Title: "x"}}
				f.Severity = analyzer.Error
				r.Findings = append(r.Findings, f)
			}
			start := time.Now()
			within(t, Render(Input{Report: r, Files: files, DetailsURL: url}))
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestHostileDiff: a diff takes bounded memory, whatever its size.
func TestHostileDiff(t *testing.T) {
	patch := "@@ -0,0 +1,5000 @@\n" + strings.Repeat("+x\n", 5000)
	var files []DiffFile
	for i := range 3000 {
		files = append(files, DiffFile{Path: fmt.Sprintf("f%d", i), Patch: patch})
	}
	files = append(files, DiffFile{Path: "line", Patch: "@@ -0,0 +1 @@\n+" + strings.Repeat("x", 16<<20)})
	start, lines := time.Now(), 0
	for _, of := range ParseDiff(files) {
		lines += len(of)
	}
	if lines != maxDiffLines {
		t.Errorf("%d lines, want %d", lines, maxDiffLines)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}
