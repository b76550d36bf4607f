package startup

import "strings"

// token is a token of Python source: a name, a string, a number or an operator.
type token struct {
	kind byte   // 'n' name, 's' string, '0' number, 'o' operator, 'l' end of line
	text string // for a string, its contents
	any  bool   // a string with computed parts (an f-string)
}

// maxTokens limits the work for one source; the longest relevant one in published packages has
// about 20,000.
const maxTokens = 400_000

// tokens splits Python source into tokens. Invalid source gives some tokens, but no error.
func tokens(src string) []token {
	var out []token
	depth := 0
	for i := 0; i < len(src) && len(out) < maxTokens; {
		c := src[i]
		switch {
		case c == '\n':
			if depth == 0 {
				out = append(out, token{kind: 'l'})
			}
			i++
		case c == '\\' && i+1 < len(src) && (src[i+1] == '\n' || src[i+1] == '\r'):
			i += 2
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			i++
		case c == '#':
			for i < len(src) && src[i] != '\n' {
				i++
			}
		case isName(c):
			j := i
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
			if i+1 < len(src) {
				switch src[i : i+2] {
				case ":=", "+=", "==", "!=", "<=", ">=", "->", "//", "**":
					n = 2
				}
			}
			out, i = append(out, token{kind: 'o', text: src[i : i+n]}), i+n
		}
	}
	return append(out, token{kind: 'l'})
}

func isName(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c >= 0x80
}

// prefix reports whether a word is a string prefix.
func prefix(s string) bool {
	return strings.Trim(strings.ToLower(s), "rbfu") == ""
}

// str reads the string that begins with a quote at src[i]; prefix is in lower case.
func str(src string, i int, prefix string) (token, int) {
	quote := src[i : i+1]
	if strings.HasPrefix(src[i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
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
	for i < len(src) {
		if strings.HasPrefix(src[i:], quote) {
			i += len(quote)
			break
		}
		if src[i] == '\n' && len(quote) == 1 {
			break
		}
		if src[i] == '\\' && i+1 < len(src) {
			if !strings.Contains(prefix, "r") &&
				(src[i+1] == '\\' || src[i+1] == '\'' || src[i+1] == '"') {
				i++
			} else if len(quote) == 1 && src[i+1] == quote[0] {
				b.WriteByte(src[i])
				i++
			}
		}
		b.WriteByte(src[i])
		i++
	}
	t.text = b.String()
	t.any = t.any && strings.Contains(t.text, "{")
	return t, i
}
