package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/lazyregexp"
	"go.yaml.in/yaml/v4"
)

const (
	maxSize   = 64 << 10 // bytes; a hand-written file is a hundred times smaller
	maxValues = 10_000   // YAML nodes
	maxShown  = 50       // problems; the limit of annotations in one request (docs: checks/create)
)

// ParseRepository parses a compat.yml. It is strict: unknown keys, values and rule IDs are
// problems, and the configuration is nil if there is any problem. rules are the IDs allowed in
// the keys rules and accept. An empty file gives the zero Repository. At most 50 problems are
// returned, in line order.
func ParseRepository(data []byte, rules []string) (*Repository, []Problem) {
	if len(data) > maxSize {
		return nil, []Problem{TooLarge(len(data))}
	}
	p := &parser{
		lines: max(1, bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n"))+1),
		rules: rules,
		list:  `one "- value" a line`,
	}
	var doc yaml.Node
	if err := load(data, &doc); err != nil {
		p.syntax(err)
		return nil, p.problems
	}
	c := &Repository{}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 && doc.Content[0].Tag != "!!null" {
		if p.bounded(doc.Content[0]) {
			p.repository(doc.Content[0], c)
		}
	}
	if len(p.problems) == 0 {
		return c, nil
	}
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
	return nil, p.problems[:min(len(p.problems), maxShown)]
}

// TooLarge returns the problem of a file with this many bytes.
func TooLarge(bytes int) Problem {
	return Problem{
		Line: 1,
		Message: fmt.Sprintf(
			"the file has %d bytes, more than the limit of %d; make it shorter",
			bytes,
			maxSize,
		),
	}
}

// load decodes YAML and turns a panic of the library into an error, because the file is
// untrusted.
func load(data []byte, doc *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML cannot be read: %v", r)
		}
	}()
	if err = yaml.Load(data, doc); err != nil && len(bytes.TrimSpace(stripComments(data))) == 0 {
		return nil // only comments: the library reports io.EOF for them
	}
	return err
}

var comment = lazyregexp.New(`(?m)^\s*(#.*|---\s*)$`)

func stripComments(data []byte) []byte { return comment.ReplaceAll(data, nil) }

type parser struct {
	lines    int
	rules    []string
	list     string // how a list is written
	problems []Problem
}

// syntax reports an error of the YAML library at the line that it names.
func (p *parser) syntax(err error) {
	line := 1
	var le *yaml.LoadError
	text := err.Error()
	if errors.As(err, &le) {
		line, text = le.Mark.Line, le.Message
	} else if m := regexp.MustCompile(`line (\d+)`).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	p.problems = append(
		p.problems,
		Problem{Line: p.clamp(line), Message: "not YAML: " + oneLine(text)},
	)
}

func (p *parser) clamp(line int) int { return min(max(1, line), p.lines) }

func (p *parser) bad(n *yaml.Node, key, format string, a ...any) {
	p.problems = append(
		p.problems,
		Problem{Line: p.clamp(n.Line), Key: key, Message: oneLine(fmt.Sprintf(format, a...))},
	)
}

// bounded rejects aliases, which can expand a short file without limit, and files with too many
// values.
func (p *parser) bounded(root *yaml.Node) bool {
	todo, count := []*yaml.Node{root}, 0
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if count++; count > maxValues {
			p.bad(n, "", "more than %d values; make the file shorter", maxValues)
			return false
		}
		if n.Kind == yaml.AliasNode || n.Anchor != "" {
			p.bad(n, "", "anchors and aliases are not supported; write out the value")
			return false
		}
		todo = append(todo, n.Content...)
	}
	return true
}

func (p *parser) repository(n *yaml.Node, c *Repository) {
	p.mapping(n, "", map[string]field{
		"artifacts": p.strings(&c.Artifacts),
		"workflows": p.strings(&c.Workflows),
		"platforms": p.checked(&c.Platforms, unknownPlatform),
		"python": p.section(map[string]field{
			"with": p.requirements(&c.Python),
			"lock": p.checked(&c.Python.Lock, outside),
		}),
		"gpu": p.section(map[string]field{
			"stack": p.oneOf(&c.GPU.Stack, "cuda", "rocm"),
			"archs": p.checked(&c.GPU.Archs, noGPU),
		}),
		"fail_on": p.oneOf(&c.FailOn, "error", "warning", "never"),
		"rules":   p.severities(&c.Rules),
		"accept":  p.accept(&c.Accept),
		"comment": p.comment(&c.Comment.Mode),
		"release": p.switchOff(&c.Release.Off),
		"abi": p.section(map[string]field{
			"against":  p.against(&c.ABI.Against),
			"policy":   p.oneOf(&c.ABI.Policy, "none", "warn", "break-on-patch", "break-always"),
			"headers":  p.strings(&c.ABI.Headers),
			"private":  p.strings(&c.ABI.Private),
			"suppress": p.checked(&c.ABI.Suppress, outside),
		}),

		"impact": p.section(map[string]field{
			"fail_on":      p.oneOf(&c.Impact.FailOn, "error", "never"),
			"repositories": p.checked(&c.Impact.Repositories, noRepository),
		}),
		"environments":  p.environments(&c.Environments),
		"documentation": p.strings(&c.Documentation),
	})
}

// field parses the value of one key. key is the full path of the key.
type field func(n *yaml.Node, key string)

// mapping parses each value of the mapping n with the field of its key.
func (p *parser) mapping(n *yaml.Node, path string, fields map[string]field) {
	p.pairs(n, path, func(k, v *yaml.Node, key string) {
		f := fields[k.Value]
		if f == nil {
			known := make([]string, 0, len(fields))
			for name := range fields {
				known = append(known, name)
			}
			p.bad(k, key, "unknown key %s; %s", quote(k.Value), suggest(k.Value, known))
			return
		}
		if v.Tag == "!!null" {
			return // a key without a value is treated as absent
		}
		f(v, key)
	})
}

func (p *parser) pairs(n *yaml.Node, path string, each func(k, v *yaml.Node, key string)) {
	if n.Kind != yaml.MappingNode {
		p.bad(n, path, "expected keys and values (name: value)")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		key := join(path, k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			p.bad(k, path, "a key must be a plain string")
		case seen[k.Value]:
			p.bad(k, key, "duplicate key; remove one")
		default:
			seen[k.Value] = true
			each(k, v, key)
		}
	}
}

func join(path, key string) string {
	if r := []rune(key); len(r) > 80 {
		key = string(r[:80]) + "…"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func (p *parser) section(fields map[string]field) field {
	return func(n *yaml.Node, key string) { p.mapping(n, key, fields) }
}

func (p *parser) text(n *yaml.Node, key string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" {
		p.bad(n, key, "expected a text")
		return "", false
	}
	return strings.TrimSpace(n.Value), true
}

func (p *parser) strings(to *[]string) field { return p.checked(to, anything) }

// items calls each for the items of a list, with the full path of the item. expected describes the
// list in the problem that is reported for another value.
func (p *parser) items(
	n *yaml.Node,
	key, expected string,
	each func(item *yaml.Node, at string),
) {
	if n.Kind != yaml.SequenceNode {
		p.bad(n, key, "expected %s", expected)
		return
	}
	for i, item := range n.Content {
		each(item, fmt.Sprintf("%s[%d]", key, i))
	}
}

// against parses abi.against.
func (p *parser) against(to *[]string) field {
	return func(n *yaml.Node, key string) {
		p.checked(to, func(s string) string {
			switch {
			case s == AgainstBase || s == AgainstRelease:
				return ""
			case !strings.ContainsAny(s, "./"):
				return fmt.Sprintf("is neither %s, nor %s, nor the path of a baseline (abi/libfoo.json)",
					AgainstBase, AgainstRelease)
			}
			return outside(s)
		})(n, key)
	}
}

// requirements parses python.with, and stores the line of each item.
func (p *parser) requirements(to *Python) field {
	return func(n *yaml.Node, key string) {
		p.checked(&to.With, noRequirement)(n, key)
		for _, item := range n.Content {
			to.At = append(to.At, p.clamp(item.Line))
		}
	}
}

func (p *parser) string(to *string) field {
	return func(n *yaml.Node, key string) { *to, _ = p.text(n, key) }
}

func (p *parser) oneOf(to *string, words ...string) field {
	return func(n *yaml.Node, key string) {
		s, ok := p.text(n, key)
		if ok && !slices.Contains(words, s) {
			p.bad(n, key, "%s is not one of %s", quote(s), strings.Join(words, ", "))
			return
		}
		*to = s
	}
}

// comment parses comment.mode. on and off are accepted as in the other keys.
func (p *parser) comment(to *string) field {
	return func(n *yaml.Node, key string) {
		s, ok := p.text(n, key)
		switch word := strings.ToLower(s); word {
		case "off", "false", "no":
			*to = CommentNever
		case "on", "true", "yes":
			*to = CommentOnChange
		case CommentNever, CommentOnFailure, CommentOnChange, CommentAlways:
			*to = word
		default:
			if ok {
				p.bad(
					n,
					key,
					"%s is not one of %s, %s, %s, %s",
					quote(s),
					CommentNever,
					CommentOnFailure,
					CommentOnChange,
					CommentAlways,
				)
			}
		}
	}
}

// switchOff parses on, off, true or false, and sets *to if the value is off.
func (p *parser) switchOff(to *bool) field {
	return func(n *yaml.Node, key string) {
		s, ok := p.text(n, key)
		switch strings.ToLower(s) {
		case "off", "false", "no", "never":
			*to = true
		case "on", "true", "yes":
		default:
			if ok {
				p.bad(n, key, "%s is not on or off", quote(s))
			}
		}
	}
}

var pythonVersion = lazyregexp.New(`^3\.\d{1,2}(\.\d{1,3})?$`)

// environments parses the value off or a list of environment files.
func (p *parser) environments(to *Environments) field {
	return func(n *yaml.Node, key string) {
		if n.Kind == yaml.ScalarNode {
			p.switchOff(&to.Off)(n, key)
			return
		}
		const expected = `"off" or a list of entries, each with the key "file"`
		p.items(n, key, expected, func(item *yaml.Node, at string) {
			before := len(p.problems)
			var e Environment
			p.mapping(item, at, map[string]field{
				"file":      p.string(&e.File),
				"python":    p.string(&e.Python),
				"platforms": p.checked(&e.Platforms, unknownPlatform),
			})
			switch {
			case len(p.problems) > before:
			case e.File == "":
				p.bad(item, at, `the key "file" is missing; give the path of a lock or requirements `+
					`file in this repository`)
			case outside(e.File) != "":
				p.bad(item, at+".file", "%s %s", quote(e.File), outside(e.File))
			case e.Python != "" && !pythonVersion.MatchString(e.Python):
				p.bad(item, at, "%s is not a Python version; write it as \"3.12\"", quote(e.Python))
			default:
				to.List = append(to.List, e)
			}
		})
	}
}

func (p *parser) severities(to *map[string]string) field {
	return func(n *yaml.Node, path string) {
		out := map[string]string{}
		p.pairs(n, path, func(k, v *yaml.Node, key string) {
			if !slices.Contains(p.rules, k.Value) {
				p.bad(k, key, "unknown rule %s; %s", quote(k.Value), suggest(k.Value, p.rules))
				return
			}
			var s string
			if p.oneOf(&s, "error", "warning", "note", "off")(v, key); s != "" {
				out[k.Value] = s
			}
		})
		*to = out
	}
}

func (p *parser) accept(to *[]Accept) field {
	return func(n *yaml.Node, key string) {
		const expected = `a list of entries, each with the key "because" and at least one of ` +
			`"rule", "package", "symbol", "library", "object"`
		p.items(n, key, expected, func(item *yaml.Node, at string) {
			before := len(p.problems)
			a := Accept{Line: p.clamp(item.Line)}
			p.mapping(item, at, map[string]field{
				"rule":    p.rule(&a.Rule),
				"package": p.string(&a.Package),
				"symbol":  p.string(&a.Symbol),
				"library": p.string(&a.Library),
				"object":  p.string(&a.Object),
				"because": p.string(&a.Because),
				"until":   p.date(&a.Until),
			})
			switch {
			case len(p.problems) > before:
			case a.Rule+a.Package+a.Symbol+a.Library+a.Object == "":
				p.bad(item, at,
					`this entry accepts everything; add the key "rule", "package", "symbol", "library" or "object"`)
			case a.Because == "":
				p.bad(item, at, `the key "because" is missing; state why this is accepted`)
			default:
				*to = append(*to, a)
			}
		})
	}
}

func (p *parser) rule(to *string) field {
	return func(n *yaml.Node, key string) {
		s, ok := p.text(n, key)
		if ok && !slices.Contains(p.rules, s) {
			p.bad(n, key, "unknown rule %s; %s", quote(s), suggest(s, p.rules))
			return
		}
		*to = s
	}
}

func (p *parser) date(to *string) field {
	return func(n *yaml.Node, key string) {
		s, ok := p.text(n, key)
		if _, err := time.Parse(time.DateOnly, s); ok && err != nil {
			p.bad(n, key, "%s is not a date; write it as 2027-01-31", quote(s))
			return
		}
		*to = s
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
