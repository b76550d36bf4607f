// Package lazyregexp is regexp for expressions that lie in package variables: each is compiled when
// it is first used. All of them together take longer to compile than most commands take.
//
//	var soName = lazyregexp.New(`^lib.+\.so`)
//
// In a test they are compiled at once, so that one that can't be compiled fails every test of its
// package.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression; its methods are those of regexp.Regexp. It is safe for concurrent
// use.
type Regexp struct {
	text    string
	compile sync.Once
	re      *regexp.Regexp
}

// inTest tells the program that go test makes.
var inTest = len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test")

// New makes an expression of what regexp.MustCompile takes.
func New(text string) *Regexp {
	r := &Regexp{text: text}
	if inTest {
		r.get()
	}
	return r
}

func (r *Regexp) get() *regexp.Regexp {
	r.compile.Do(func() { r.re = regexp.MustCompile(r.text) })
	return r.re
}

func (r *Regexp) Match(b []byte) bool            { return r.get().Match(b) }
func (r *Regexp) MatchString(s string) bool      { return r.get().MatchString(s) }
func (r *Regexp) Find(b []byte) []byte           { return r.get().Find(b) }
func (r *Regexp) FindString(s string) string     { return r.get().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int { return r.get().FindStringIndex(s) }

func (r *Regexp) FindStringSubmatch(
	s string,
) []string {
	return r.get().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(
	s string,
) []int {
	return r.get().FindStringSubmatchIndex(s)
}
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

func (r *Regexp) FindAllStringIndex(
	s string,
	n int,
) [][]int {
	return r.get().FindAllStringIndex(s, n)
}
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAllString(
	s, with string,
) string {
	return r.get().ReplaceAllString(s, with)
}
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.get().ReplaceAllLiteralString(s, with)
}
func (r *Regexp) SubexpNames() []string { return r.get().SubexpNames() }

func (r *Regexp) ReplaceAll(b, with []byte) []byte { return r.get().ReplaceAll(b, with) }
