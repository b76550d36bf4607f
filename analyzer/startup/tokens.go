package startup

import (
	"strings"
	"sync"
)

// token is a token of Python source: a name, a string, a number or an operator.
type token struct {
	kind byte // 'n' name, 's' string, '0' number, 'o' operator, 'l' end of line
	// For a string, its contents; for the end of a line, the indentation of the next one.
	text string
	any  bool // a string with computed parts (an f-string)
}

// opens reports whether a token is an opening bracket, closes whether it is a closing one.
func (t token) opens() bool {
	return t.kind == 'o' && (t.text == "(" || t.text == "[" || t.text == "{")
}

func (t token) closes() bool {
	return t.kind == 'o' && (t.text == ")" || t.text == "]" || t.text == "}")
}

// maxTokens limits the work for one source; the longest relevant one in published packages has
// about 20,000.
const maxTokens = 400_000

// tokens splits Python source into tokens. Invalid source gives some tokens, but no error.
func tokens(src string) []token {
	l := lexer{src: src}
	for !l.ended && len(l.out) < maxTokens {
		l.line()
	}
	return append(l.out, token{kind: 'l'})
}

// lines has buffers for the tokens of a line.
var lines = sync.Pool{New: func() any { return new(make([]token, 0, 256)) }}

// lexer splits Python source into the tokens of logical lines.
type lexer struct {
	src   string
	at    int
	out   []token
	ended bool
}

// line appends the tokens up to the end of a logical line.
func (l *lexer) line() {
	src, out, i, depth := l.src, l.out, l.at, 0
	for i < len(src) && len(out) < maxTokens {
		c := src[i]
		switch {
		case c == '\n':
			i++
			if depth == 0 {
				end := i
				for end < len(src) && (src[end] == ' ' || src[end] == '\t') {
					end++
				}
				l.out, l.at = append(out, token{kind: 'l', text: src[i:end]}), end
				return
			}
		case c == '\\' && i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r'):
			i += 2
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			i++
		case c == '#':
			if end := strings.IndexByte(src[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(src)
			}
		case isName(c):
			j := i + 1
			for j < len(src) && isName(src[j]) {
				j++
			}
			if j < len(src) && (src[j] == '"' || src[j] == '\'') && j-i <= 2 && prefix(src[i:j]) {
				t, next := str(src, j, strings.ToLower(src[i:j]))
				out, i = append(out, t), next
				continue
			}
			kind := byte('n')
			if c >= '0' && c <= '9' {
				kind = '0'
			}
			out, i = append(out, token{kind: kind, text: src[i:j]}), j
		case c == '"' || c == '\'':
			t, next := str(src, i, "")
			out, i = append(out, t), next
		default:
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth = max(depth-1, 0)
			}
			n := 1
			if i+1 < len(src) && long(c, src[i+1]) {
				n = 2
			}
			out, i = append(out, token{kind: 'o', text: src[i : i+n]}), i+n
		}
	}
	l.out, l.at, l.ended = out, i, true
}

// long reports whether two characters are one operator.
func long(a, b byte) bool {
	switch b {
	case '=':
		return a == ':' || a == '+' || a == '=' || a == '!' || a == '<' || a == '>'
	case '>':
		return a == '-'
	case '/', '*':
		return a == b
	}
	return false
}

// indent goes to the next line that is not empty, and returns its indentation.
func (l *lexer) indent() int {
	for l.at < len(l.src) && strings.IndexByte("\n\r#", l.src[l.at]) >= 0 {
		end := strings.IndexByte(l.src[l.at:], '\n')
		if end < 0 {
			break
		}
		rest := l.src[l.at+end+1:]
		l.at = len(l.src) - len(strings.TrimLeft(rest, " \t"))
	}
	return l.at - 1 - strings.LastIndexByte(l.src[:l.at], '\n')
}

// skip goes to the end of a logical line.
func (l *lexer) skip() {
	src, depth := l.src, 0
	for i := l.at; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '#':
			end := strings.IndexByte(src[i:], '\n')
			if end < 0 {
				end = len(src) - i
			}
			i += end - 1
		case '"', '\'':
			_, end := str(src, i, "r")
			i = end - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(depth-1, 0)
		case '\n':
			if depth == 0 {
				l.at = len(src) - len(strings.TrimLeft(src[i+1:], " \t"))
				return
			}
		}
	}
	l.at, l.ended = len(src), true
}

func isName(c byte) bool { return names[c] }

var names = func() (t [256]bool) {
	for i := range t {
		c := byte(i)
		t[i] = c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c >= 0x80
	}
	return t
}()

// prefix reports whether a word is a string prefix.
func prefix(s string) bool {
	return strings.Trim(strings.ToLower(s), "rbfu") == ""
}

// str reads the string that begins with a quote at src[i]; prefix is in lower case.
func str(src string, i int, prefix string) (token, int) {
	quote := src[i : i+1]
	if i+3 <= len(src) && src[i+1] == src[i] && src[i+2] == src[i] {
		quote = src[i : i+3]
	}
	i += len(quote)
	t := token{kind: 's', any: strings.Contains(prefix, "f")}
	if n := strings.Index(src[i:], quote); n >= 0 &&
		!strings.Contains(src[i:i+n], `\`) && (len(quote) == 3 || !strings.Contains(src[i:i+n], "\n")) {
		t.text = src[i : i+n]
		t.any = t.any && strings.Contains(t.text, "{")
		return t, i + n + len(quote)
	}
	var b strings.Builder
	from := i // of what was not written yet
	closed := 0
	for ; i < len(src); i++ {
		if src[i] == quote[0] && strings.HasPrefix(src[i:], quote) {
			closed = len(quote)
			break
		}
		if src[i] == '\n' && len(quote) == 1 {
			break
		}
		if src[i] == '\\' && i+1 < len(src) {
			if !strings.Contains(prefix, "r") &&
				(src[i+1] == '\\' || src[i+1] == '\'' || src[i+1] == '"') {
				b.WriteString(src[from:i])
				i++
				from = i
			} else if len(quote) == 1 && src[i+1] == quote[0] {
				i++
			}
		}
	}
	b.WriteString(src[from:i])
	i += closed
	t.text = b.String()
	t.any = t.any && strings.Contains(t.text, "{")
	return t, i
}
