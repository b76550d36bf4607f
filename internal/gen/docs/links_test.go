package docgen_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fences = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	spans  = regexp.MustCompile("`[^`\n]*`")
	links  = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	titles = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestLinks checks that links of the pages lead to files of the repository, and to headings of
// pages. Addresses of other hosts are not requested.
func TestLinks(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/rules/*.md", "deploy/*/*.md",
		"analyzer/*/testdata/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	checked := 0
	for _, page := range pages {
		for _, link := range linksOf(t, page) {
			if err := resolve(t, page, link); err != nil {
				t.Errorf("%s links %s: %v", page, link, err)
			}
			checked++
		}
	}
	if checked < 300 {
		t.Errorf("only %d links in %d pages", checked, len(pages))
	}
}

// A missing file and a missing heading are noticed, with and without an anchor.
func TestDeadLinks(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "a.md")
	content := "# One `x` thing, at last\n[a](b.md) [b](#two) [c](#one-x-thing-at-last) ![d](p.png)\n" +
		"`[e](f.md)` [g](a.md#none) [h](https://host.test/x)\n```\n[i](j.md)\n```\n"
	if err := os.WriteFile(page, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	var dead []string
	for _, link := range linksOf(t, page) {
		if resolve(t, page, link) != nil {
			dead = append(dead, link)
		}
	}
	if got := strings.Join(dead, " "); got != "b.md #two p.png a.md#none" {
		t.Errorf("dead links: %s", got)
	}
}

// linksOf returns the addresses that a page links in the repository, without those in code.
func linksOf(t *testing.T, page string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	plain := spans.ReplaceAllString(fences.ReplaceAllString(string(text), ""), "")
	for _, m := range links.FindAllStringSubmatch(plain, -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			out = append(out, m[1])
		}
	}
	return out
}

// resolve returns an error if a link of a page leads to no file, or to no heading.
func resolve(t *testing.T, page, link string) error {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	to := page
	if file != "" {
		to = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(to); err != nil {
		return err
	}
	if anchor == "" || filepath.Ext(to) != ".md" {
		return nil
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	if strings.Contains(string(text), `<a id="`+anchor+`">`) {
		return nil
	}
	for _, m := range titles.FindAllStringSubmatch(fences.ReplaceAllString(string(text), ""), -1) {
		if slug(m[1]) == anchor {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading for #%s", to, anchor)
}

// slug returns the anchor of a heading, as GitHub and mkdocs make it.
func slug(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		case c == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(heading))
}
