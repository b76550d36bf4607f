// Package lazyregexp compiles the regular expressions of package variables when they are first
// used. Compiling all of them at start would take longer than most commands run.
//
//	var soName = lazyregexp.New(`^lib.+\.so`)
//
// A test compiles all expressions of the module, so an invalid one fails it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression with the methods of regexp.Regexp. It is safe for concurrent
// use.
type Regexp struct {
	text    string
	compile sync.Once
	re      *regexp.Regexp
}

// New returns the expression text, which must be valid for regexp.MustCompile. It only stores the
// text, so the compiler can initialize package variables statically.
func New(text string) *Regexp { return &Regexp{text: text} }

func (r *Regexp) get() *regexp.Regexp {
	r.compile.Do(func() { r.re = regexp.MustCompile(r.text) })
	return r.re
}

func (r *Regexp) Match(b []byte) bool              { return r.get().Match(b) }
func (r *Regexp) MatchString(s string) bool        { return r.get().MatchString(s) }
func (r *Regexp) Find(b []byte) []byte             { return r.get().Find(b) }
func (r *Regexp) FindSubmatchIndex(b []byte) []int { return r.get().FindSubmatchIndex(b) }
func (r *Regexp) FindString(s string) string       { return r.get().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int   { return r.get().FindStringIndex(s) }

func (r *Regexp) FindStringSubmatch(s string) []string {
	return r.get().FindStringSubmatch(s)
}

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.get().FindStringSubmatchIndex(s)
}
func (r *Regexp) FindAllString(s string, n int) []string { return r.get().FindAllString(s, n) }

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.get().FindAllStringIndex(s, n)
}
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}

func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.get().ReplaceAllString(s, with)
}
func (r *Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.get().ReplaceAllLiteralString(s, with)
}
func (r *Regexp) SubexpNames() []string { return r.get().SubexpNames() }

func (r *Regexp) ReplaceAll(b, with []byte) []byte { return r.get().ReplaceAll(b, with) }

func (r *Regexp) ReplaceAllStringFunc(s string, replace func(string) string) string {
	return r.get().ReplaceAllStringFunc(s, replace)
}
