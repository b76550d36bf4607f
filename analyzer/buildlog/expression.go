package buildlog

import (
	"regexp"
	"sync"
)

// expression is a regular expression that is compiled when it is first used: all of them together take longer than most commands of the program that this
// package is part of.
type expression struct {
	text    string
	compile sync.Once
	re      *regexp.Regexp
}

// expressions are all that there are, for the test that compiles them.
var expressions []*expression

func lazy(text string) *expression {
	e := &expression{text: text}
	expressions = append(expressions, e)
	return e
}

func (e *expression) get() *regexp.Regexp {
	e.compile.Do(func() { e.re = regexp.MustCompile(e.text) })
	return e.re
}

func (e *expression) Find(b []byte) []byte                 { return e.get().Find(b) }
func (e *expression) MatchString(s string) bool            { return e.get().MatchString(s) }
func (e *expression) FindString(s string) string           { return e.get().FindString(s) }
func (e *expression) FindStringIndex(s string) []int       { return e.get().FindStringIndex(s) }
func (e *expression) FindStringSubmatch(s string) []string { return e.get().FindStringSubmatch(s) }
func (e *expression) FindStringSubmatchIndex(s string) []int {
	return e.get().FindStringSubmatchIndex(s)
}
func (e *expression) ReplaceAllString(s, with string) string {
	return e.get().ReplaceAllString(s, with)
}
func (e *expression) SubexpNames() []string { return e.get().SubexpNames() }
func (e *expression) FindAllStringSubmatch(s string, n int) [][]string {
	return e.get().FindAllStringSubmatch(s, n)
}
func (e *expression) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return e.get().FindAllStringSubmatchIndex(s, n)
}
