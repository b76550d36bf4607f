package lockfile

import (
	"bytes"
	"fmt"
	"strings"
)

// Limits of a lock file. It may come from a pull request, so it is untrusted: a file of 54 KB can
// make a TOML or YAML decoder use gigabytes, by nesting, by aliases, or by keys that the decoder
// compares with each other. The readers of this package take time and memory in proportion to the
// size, and check nesting and the number of values before they recurse or allocate.
const (
	maxSize        = 16 << 20 // bytes; the largest applications have about 5 MB, with hashes
	maxNesting     = 64       // of arrays and tables; lock files have 4
	maxValues      = 200_000  // of one TOML statement, or of a YAML or JSON file
	maxPins        = 20_000   // packages
	maxRequirement = 4 << 10  // bytes of one requirement with its marker
)

// boundTOML returns an error if a TOML file is nested deeper than maxNesting or has a statement
// with more than maxValues values. It recognises only strings and comments; for input that it
// tokenises differently from the parser, the parser returns a syntax error.
func boundTOML(data []byte) error {
	depth, values, line := 0, 0, 1
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '\n':
			line++
			if depth == 0 {
				values = 0
			}
		case '#':
			end := bytes.IndexByte(data[i:], '\n')
			if end < 0 {
				return nil
			}
			i += end - 1
		case '"', '\'':
			n := tomlString(data[i:])
			line += bytes.Count(data[i:i+n], []byte("\n"))
			i += n - 1
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		case ',', '.', '=':
			values++
		}
		if depth > maxNesting {
			return inLine(line, fmt.Errorf("it is nested deeper than %d levels", maxNesting))
		}
		if values > maxValues {
			return inLine(line, fmt.Errorf("a statement has more than %d values", maxValues))
		}
	}
	return nil
}

// tomlString returns the length of the string at the beginning of data, with its quotes. An
// unterminated single-line string ends at the newline; the parser reports it.
func tomlString(data []byte) int {
	quote := data[0]
	long := bytes.HasPrefix(data, []byte{quote, quote, quote})
	i := 1
	if long {
		i = 3
	}
	for ; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == '\n' && !long:
			return i
		case data[i] == quote && !long:
			return i + 1
		case data[i] == quote && bytes.HasPrefix(data[i:], []byte{quote, quote, quote}):
			return i + 3
		}
	}
	return len(data)
}

// boundValues returns an error if a YAML or JSON file has more than maxValues values: every value
// ends with one of the separators.
func boundValues(data []byte, separators string) error {
	n := 0
	for _, c := range data {
		if strings.IndexByte(separators, c) >= 0 {
			n++
		}
	}
	if n > maxValues {
		return fmt.Errorf("it has more than %d values", maxValues)
	}
	return nil
}
