package comment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

// TestHostileSources: reviews stay within GitHub's limits for any source files.
func TestHostileSources(t *testing.T) {
	const size = 4 << 10
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
				for _, file := range []string{"pyproject.toml", "CMakeLists.txt", "Dockerfile",
					"requirements.txt"} {
					if i%4 == len(files)%4 {
						files[fmt.Sprintf("d%d/%s", i, file)] = text
					}
				}
			}
			r := of()
			for i := range 3000 {
				f := needs(fmt.Sprintf("sym_%d", i), "GLIBC_2.29", "libtorch.so")
				f.Object, f.Package = fmt.Sprintf("widget/lib%d.so", i), fmt.Sprintf("torch%d", i%7)
				f.Fixes = []fix.Fix{{Kind: fix.KindPin, Requirement: "torch>=2", Title: fix.Titled("x")}}
				f.Severity = analyzer.Error
				r.Findings = append(r.Findings, f)
			}
			within(t, Render(Input{Report: r, Files: files, DetailsURL: url}))
		})
	}
}

// TestScannedBytes: all searches of one review read at most maxScanned bytes.
func TestScannedBytes(t *testing.T) {
	for name, line := range map[string]string{
		"short": "torch\n",
		"empty": "\n",
		"long":  strings.Repeat("torch ", maxLine/6) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(line, maxScanned/len(line))
			s := newSources(map[string]string{"pyproject.toml": text, "a/pyproject.toml": text})
			scanned := 0
			for range 3000 {
				s.scan([]fileKind{kindOf("pyproject.toml")}, func(_ fileKind, _, l string) int {
					scanned += len(l) + 32
					return 0
				})
			}
			if scanned > maxScanned || scanned < maxScanned-maxLine-32 {
				t.Errorf("%d bytes were searched, of at most %d", scanned, maxScanned)
			}
		})
	}
}

// TestHostileDiff: a diff of any size needs bounded memory.
func TestHostileDiff(t *testing.T) {
	patch := "@@ -0,0 +1,5000 @@\n" + strings.Repeat("+x\n", 5000)
	var files []DiffFile
	for i := range 3000 {
		files = append(files, DiffFile{Path: fmt.Sprintf("f%d", i), Patch: patch})
	}
	files = append(files, DiffFile{Path: "line", Patch: "@@ -0,0 +1 @@\n+" +
		strings.Repeat("x", 16<<20)})
	lines := 0
	for _, hunks := range ParseDiff(files) {
		for _, h := range hunks {
			lines += h.Last - h.First + 1
		}
	}
	if lines != maxDiffLines {
		t.Errorf("%d lines, want %d", lines, maxDiffLines)
	}
}
