package startup

import (
	"path"
	"slices"
	"strings"
)

// expression evaluates the expression at a token to strings, one for each possible value of its
// names; none if that is not possible. It supports os.path, pathlib and concatenation. end is the
// token after the part that was understood.
func (s *source) expression(at int) (values []string, end int) {
	if s.work--; s.work < 0 {
		return nil, at
	}
	values, end = s.operand(at)
	for end < len(s.tokens) {
		switch s.tokens[end].text {
		case "/":
			right, next := s.operand(end + 1)
			values, end = combine(values, right, joined), next
		case "+":
			if s.tokens[end].kind != 'o' || s.pathSeparator(end+1) {
				return values, end
			}
			right, next := s.operand(end + 1)
			values, end = combine(values, right, added), next
		case "if": // "a if b else c" may have either value
			at := s.otherwise(end + 1)
			if s.tokens[end].kind != 'n' || at == 0 {
				return values, end
			}
			other, next := s.expression(at)
			return append(slices.Clip(values), other...), next
		default:
			return values, end
		}
	}
	return values, end
}

// otherwise returns the token after the "else" of a conditional expression whose condition begins
// at a token; 0 without one in the line.
func (s *source) otherwise(at int) int {
	const longest = 64 // tokens of a condition
	for i := at; i < len(s.tokens) && i < at+longest && s.tokens[i].kind != 'l'; i++ {
		s.work--
		if s.tokens[i].kind == 'n' && s.tokens[i].text == "else" {
			return i + 1
		}
	}
	return 0
}

// pathSeparator reports whether os.pathsep follows, which ends a folder in PATH.
func (s *source) pathSeparator(at int) bool {
	for i := at; i < len(s.tokens) && i < at+3; i++ {
		if s.tokens[i].text == "pathsep" || s.tokens[i].kind == 's' && s.tokens[i].text == ";" {
			return true
		}
	}
	return false
}

func added(a, b string) string { return a + b }

func joined(a, b string) string {
	b = strings.ReplaceAll(b, `\`, "/")
	if strings.HasPrefix(b, "/") {
		return b
	}
	return path.Join(a, b)
}

func combine(a, b []string, how func(a, b string) string) []string {
	const most = 64
	var out []string
	for _, x := range a {
		for _, y := range b {
			if len(out) < most && len(x)+len(y) < 4096 {
				out = append(out, how(x, y))
			}
		}
	}
	return out
}

// operand evaluates an operand with its attributes, calls and subscripts.
func (s *source) operand(at int) (values []string, end int) {
	if s.work--; s.work < 0 || at >= len(s.tokens) {
		return nil, at
	}
	t := s.tokens[at]
	end = at + 1
	name := ""
	switch {
	case t.kind == 's':
		text := strings.ReplaceAll(t.text, `\`, "/")
		for end < len(s.tokens) && s.tokens[end].kind == 's' { // "a" "b"
			text += strings.ReplaceAll(s.tokens[end].text, `\`, "/")
			end++
		}
		if !t.any {
			values = []string{text}
		} else {
			values = s.format(text)
		}
	case t.kind == 'n' && (t.text == "not" || t.text == "await"):
		return s.expression(end)
	case t.kind == 'n':
		name = t.text
		values = s.name(name)
	case t.text == "(" || t.text == "[":
		for end < len(s.tokens) && s.tokens[end].kind != 'l' {
			v, next := s.expression(end)
			values = append(values, v...)
			end = s.skip(next)
			if end >= len(s.tokens) || s.tokens[end].text != "," {
				break
			}
			end++
		}
		end++
	default:
		return nil, at
	}
	return s.trailers(values, name, end)
}

// trailers evaluates ".attribute", "(arguments)" and "[subscript]".
func (s *source) trailers(values []string, name string, end int) ([]string, int) {
	for end < len(s.tokens) {
		switch s.tokens[end].text {
		case ".":
			if end+1 >= len(s.tokens) {
				return values, end
			}
			attribute := s.tokens[end+1].text
			end += 2
			if end < len(s.tokens) && s.tokens[end].text == "(" {
				var args [][]string
				args, end = s.arguments(end + 1)
				values = s.call(values, attribute, args)
				name = ""
				continue
			}
			values = attributeOf(values, name, attribute)
			name += "." + attribute
		case "(":
			var args [][]string
			args, end = s.arguments(end + 1)
			values = s.call(nil, name, args)
			name = ""
		case "[":
			index, next := "", end+1
			if next < len(s.tokens) {
				index = s.tokens[next].text
			}
			for next < len(s.tokens) && s.tokens[next].text != "]" && s.tokens[next].kind != 'l' {
				next++
			}
			end = next + 1
			if strings.HasSuffix(name, ".parents") {
				values = up(values, index)
			}
			if strings.HasSuffix(name, "environ") {
				values = nil
			}
		default:
			return values, end
		}
	}
	return values, end
}

// arguments evaluates the arguments of a call, up to its closing parenthesis.
func (s *source) arguments(at int) (args [][]string, end int) {
	for end = at; end < len(s.tokens) && s.tokens[end].text != ")"; {
		if s.tokens[end].text == "*" {
			end++
		}
		if end+1 < len(s.tokens) && s.tokens[end].kind == 'n' &&
			(s.tokens[end+1].text == "=" || s.tokens[end+1].text == ":=") {
			end += 2
		}
		v, next := s.expression(end)
		args = append(args, v)
		if end = s.skip(next); end < len(s.tokens) && s.tokens[end].text == "," {
			end++
		} else if end < len(s.tokens) && s.tokens[end].text != ")" {
			return args, end
		}
	}
	return args, end + 1
}

// skip skips an unsupported expression, up to a comma or a closing bracket.
func (s *source) skip(at int) int {
	depth := 0
	for ; at < len(s.tokens) && s.tokens[at].kind != 'l'; at++ {
		s.work--
		switch s.tokens[at].text {
		case "(", "[", "{":
			if s.tokens[at].kind == 'o' {
				depth++
			}
		case ")", "]", "}":
			if s.tokens[at].kind != 'o' {
				continue
			}
			if depth == 0 {
				return at
			}
			depth--
		case ",":
			if depth == 0 && s.tokens[at].kind == 'o' {
				return at
			}
		}
	}
	return at
}

// name returns the possible values of a name.
func (s *source) name(name string) []string {
	switch name {
	case "__file__":
		return []string{s.file}
	case "__path__":
		return []string{path.Dir(s.file)}
	}
	return s.values[name]
}

// attributeOf returns the possible values of an attribute.
func attributeOf(values []string, name, attribute string) []string {
	switch attribute {
	case "parent":
		return each(values, path.Dir)
	case "parents", "path":
		return values
	case "pardir":
		return []string{".."}
	case "curdir":
		return []string{"."}
	case "sep":
		return []string{"/"}
	case "prefix", "exec_prefix", "base_prefix", "base_exec_prefix":
		if name == "sys" {
			return []string{prefixFolder}
		}
	case "executable":
		return []string{prefixFolder + "/python.exe"}
	}
	return nil
}

// call returns the possible results of a function, or of a method of values.
func (s *source) call(values []string, name string, args [][]string) []string {
	first := func() []string {
		if len(args) > 0 {
			return args[0]
		}
		return nil
	}
	switch name {
	case "dirname":
		return each(first(), path.Dir)
	case "split":
		return each(first(), path.Dir)
	case "abspath",
		"realpath",
		"normpath",
		"normcase",
		"expanduser",
		"Path",
		"PurePath",
		"str",
		"fspath",
		"WindowsPath",
		"PureWindowsPath",
		"glob",
		"iglob",
		"sorted",
		"list",
		"set",
		"tuple",
		"reversed",
		"c_wchar_p",
		"add_dll_directory",
		"listdir",
		"scandir":
		if len(values) > 0 && (name == "glob" || name == "rglob") { // of a pathlib.Path
			return combine(values, []string{"*.dll"}, joined)
		}
		return each(first(), path.Clean)
	case "resolve", "absolute", "as_posix", "__str__", "encode", "iterdir", "lower":
		return values
	case "rglob":
		return combine(values, []string{"*.dll"}, joined)
	case "join", "joinpath":
		out := values
		for i, a := range args {
			if i == 0 && len(values) == 0 {
				out = a
			} else {
				out = combine(out, a, joined)
			}
		}
		return out
	case "with_suffix", "with_name":
		if len(args) == 0 {
			return nil
		}
		return combine(values, args[0], func(a, b string) string {
			if name == "with_name" {
				return path.Join(path.Dir(a), b)
			}
			return strings.TrimSuffix(a, path.Ext(a)) + b
		})
	case "get_path_to_datafile": // of TensorFlow: a file next to the source that calls it
		return combine([]string{path.Dir(s.file)}, first(), joined)
	case "files":
		return []string{path.Dir(s.file)}
	case "get_path", "get_python_lib", "getsitepackages":
		return []string{siteFolder}
	}
	return nil
}

func each(values []string, f func(string) string) []string {
	var out []string
	for _, v := range values {
		out = append(out, f(v))
	}
	return out
}

// up is Path.parents[index].
func up(values []string, index string) []string {
	if len(index) != 1 || index[0] < '0' || index[0] > '9' {
		return nil
	}
	out := values
	for range int(index[0]-'0') + 1 {
		out = each(out, path.Dir)
	}
	return out
}

// format evaluates an f-string whose fields are names.
func (s *source) format(text string) []string {
	out := []string{""}
	for text != "" {
		before, rest, ok := strings.Cut(text, "{")
		out = combine(out, []string{before}, func(a, b string) string { return a + b })
		if !ok {
			break
		}
		field, after, ok := strings.Cut(rest, "}")
		if !ok {
			return nil
		}
		out = combine(out, s.name(field), func(a, b string) string { return a + b })
		text = after
	}
	return out
}
