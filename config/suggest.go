package config

import (
	"slices"
	"strings"

	"github.com/compat-app/compat/internal/edits"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// Nearest returns the only known word that begins with word, or else the closest one, ignoring
// case; "" if none is close.
func Nearest(word string, known []string) string {
	var begin []string
	for _, k := range known {
		if word != "" && strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) {
			begin = append(begin, k)
		}
	}
	if len(begin) == 1 {
		return begin[0]
	}
	best, most := "", len(word)/3+2
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < most {
			best, most = k, d
		}
	}
	return best
}

// variablePrefix begins the variables that only compat uses.
const variablePrefix = "COMPAT_"

// variables are all names after variablePrefix.
var variables = []string{
	"ADMIN_ADDR", "BLOBS", "DATA", "FACTS", "FACTS_KEY", "INDEX_ALLOW", "LEASE", "PARTITIONS",
	"POOL", "PUBLIC_URL", "SANDBOX", "WAIT", "WORKERS",
}

// otherVariables are the other variables of the service. Other programs read some of them too.
var otherVariables = []string{
	"APP_ID", "GITHUB_API_URL", "LOG_LEVEL", "PIP_INDEX_URL", "PORT", "PRIVATE_KEY",
	"PRIVATE_KEY_COMMAND", "PRIVATE_KEY_PATH", "REDIS_URL", "WEBHOOK_SECRET", "WEBHOOK_SECRET_PATH",
}

// cluster matches the variables that Kubernetes sets in each pod for a service named compat.
var cluster = lazyregexp.New(`^COMPAT_(SERVICE|PORT)(_|$)`)

// parameters are those of an address that operation.md describes. A shell that reads the address
// without quotes from a file takes "&" as the end of a command: it sets the last parameter as a
// variable, and not the address.
var parameters = map[string][]string{
	"REDIS_URL":    {"addr", "cluster", "master_name", "password", "skip_verify", "username"},
	"COMPAT_BLOBS": {"endpoint", "region"},
}

// UnknownVariables returns an error for each variable that begins with COMPAT_ and that compat does
// not read, or that is part of an address that is not set, sorted by name. environ is a list as
// os.Environ returns it.
func UnknownVariables(environ []string) []*EnvError {
	var unknown []*EnvError
	set := map[string]bool{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		set[name] = value != ""
	}
	for address, names := range parameters {
		for _, name := range names {
			if set[name] && !set[address] {
				unknown = append(unknown, &EnvError{Variable: name, Problem: "is set and " + address +
					" is not, as if a shell had read the address without quotes and ended it at &; write the " +
					"address in single quotes in compat.env"})
			}
		}
	}
	for name := range set {
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || slices.Contains(variables, rest) || cluster.MatchString(name) {
			continue
		}
		e := &EnvError{Variable: name, Problem: "compat has no such variable; "}
		if best := Nearest(rest, variables); best != "" {
			e.Problem += "did you mean " + variablePrefix + best + "?"
		} else {
			e.Problem += "remove it; docs/config.md lists the variables"
		}
		unknown = append(unknown, e)
	}
	slices.SortFunc(unknown, func(a, b *EnvError) int {
		return strings.Compare(a.Variable, b.Variable)
	})
	return unknown
}

// suggest suggests the closest known word, or lists the known words.
func suggest(word string, known []string) string {
	best := Nearest(word, known)
	switch {
	case best != "":
		return "did you mean " + best + "?"
	case len(known) == 0 || len(known) > 15:
		return "remove it, or see the documentation"
	}
	return "one of: " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// distance returns the Damerau-Levenshtein distance of two words. Words longer than 80 bytes get
// the distance 80.
func distance(a, b string) int {
	if len(a) > 80 || len(b) > 80 {
		return 80
	}
	return edits.Distance(a, b, 1, 1)
}
